/// @file
/// Which heavy fence the library gets in a program under Wine, in many versions of which that of
/// Windows does nothing.
#pragma once

namespace lido_test {

enum class heavy_fence {
  real,  ///< that of Linux below Wine; on Windows its own
  none,  ///< nothing at all
};

/// Before the first pool. Returns why there is no such fence, or nothing.
[[nodiscard]] const char* choose_heavy_fence(heavy_fence kind);

}  // namespace lido_test
