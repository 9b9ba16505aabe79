/// @file
/// Which heavy fence the library gets in a test program for Windows.
#pragma once

namespace lido::test {

enum class heavy_fence {
  real,  ///< under Wine that of Linux below it; on Windows the system's own
  none,  ///< nothing at all
};

/// Chooses the fence. Requires: no pool has been used. Without a call it is the real one. Returns
/// false where Wine runs and Linux refuses membarrier(2): pools have locked caches there.
[[nodiscard]] bool choose_heavy_fence(heavy_fence kind) noexcept;

}  // namespace lido::test
