/// @file
/// What a scenario can make the modelled system do.
#pragma once

namespace model {

enum class refusals {
  none,
  any,          ///< each heavy fence may be refused or not
  next,         ///< the next one is, and no other
  until_sleep,  ///< all are, until a thread goes to sleep
};

/// The heavy fences that the kernel refuses while it lives.
class refused_heavy_fences {
 public:
  explicit refused_heavy_fences(refusals which) noexcept;
  refused_heavy_fences(const refused_heavy_fences&) = delete;
  refused_heavy_fences& operator=(const refused_heavy_fences&) = delete;
  ~refused_heavy_fences();
};

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
