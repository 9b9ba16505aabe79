/// @file
/// The heavy fence of the library in a test program for Windows.
#pragma once

namespace lido::test {

enum class heavy_fence {
  real,  ///< under Wine, that of the Linux below; on Windows, the system's own
  none,  ///< no fence at all
};

/// Chooses the fence; the default is the real one. Requires: no pool has been used. Returns false
/// if the program runs under Wine and Linux refuses membarrier(2): pools then have locked caches.
[[nodiscard]] bool choose_heavy_fence(heavy_fence kind) noexcept;

}  // namespace lido::test
