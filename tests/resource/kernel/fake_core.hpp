/// @file
/// Records what the idle cache asks of the core, in tests of the kernel, which have no core.
#pragma once

#include <cstdint>

namespace lido::test {

/// How a release continued after the fast path.
enum class release_path : std::uint8_t {
  fast,
  slow,    ///< the kernel decides: `on_released` or `on_discarded`
  marked,  ///< the slot was marked: `on_released`
  idle     ///< it is idle, and a flag was set: `on_idle`
};

/// Returns the path of the last release, and resets it to `fast`.
[[nodiscard]] release_path take_release_path() noexcept;

}  // namespace lido::test
