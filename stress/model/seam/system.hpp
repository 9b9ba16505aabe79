/// @file
/// What a scenario can make the modelled system do.
#pragma once

namespace model {

/// The kernel may refuse the heavy fence, each time anew.
void let_heavy_fence_fail(bool yes) noexcept;
[[nodiscard]] bool heavy_fence_may_fail() noexcept;

/// The system has no heavy fence, as pools find that are made from now on.
void take_heavy_fence_away(bool yes) noexcept;

}  // namespace model
