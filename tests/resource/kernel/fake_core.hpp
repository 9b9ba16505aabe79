/// @file
/// What the idle cache asks of the core, noted for tests of the kernel, which have no core.
#pragma once

#include <cstdint>

namespace lido::test {

/// How a release on the fast path went on.
enum class release_path : std::uint8_t {
  fast,
  slow,    ///< the kernel decides: `on_released` or `on_discarded`
  marked,  ///< the slot was marked: `on_released`
  idle     ///< it is idle, and a flag was set: `on_idle`
};

/// Of the last release; the next one begins as `fast`.
[[nodiscard]] release_path take_release_path() noexcept;

}  // namespace lido::test
