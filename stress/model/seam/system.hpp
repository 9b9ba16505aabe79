/// @file
/// What a scenario can make the modelled system do.
#pragma once

namespace model {

/// The kernel may refuse the heavy fence, each time anew.
void let_heavy_fence_fail(bool yes) noexcept;
[[nodiscard]] bool heavy_fence_may_fail() noexcept;

}  // namespace model
