/// @file
/// What a scenario can make the modelled system do.
#pragma once

namespace model {

/// The kernel may refuse the heavy fence, each time anew.
void let_heavy_fence_fail(bool yes) noexcept;

/// The next heavy fence is refused, and no other.
void refuse_next_heavy_fence() noexcept;

/// Heavy fences are refused until a thread goes to sleep.
void refuse_heavy_fences_until_sleep() noexcept;

/// While it lives, the first thread that asks for a heavy fence stands still there until `go_on`.
class slow_heavy_fence {
 public:
  slow_heavy_fence() noexcept;
  slow_heavy_fence(const slow_heavy_fence&) = delete;
  slow_heavy_fence& operator=(const slow_heavy_fence&) = delete;
  ~slow_heavy_fence();

  /// Whether somebody has come to stand there.
  [[nodiscard]] static bool was_reached() noexcept;
  static void go_on() noexcept;
};

/// The system has no heavy fence, as pools find that are made from now on.
void take_heavy_fence_away(bool yes) noexcept;

/// The table that unused pools share outlives executions: empties it in the first call of each.
void forget_unused_caches() noexcept;

}  // namespace model
