/// @file
/// Behaviours of the modelled system that a scenario can choose.
#pragma once

namespace model {

enum class refusals {
  none,
  any,          ///< any heavy fence may be refused
  next,         ///< only the next one is refused
  until_sleep,  ///< all are refused, until a thread goes to sleep
};

/// Makes the kernel refuse heavy fences during its lifetime.
class refused_heavy_fences {
 public:
  explicit refused_heavy_fences(refusals which) noexcept;
  refused_heavy_fences(const refused_heavy_fences&) = delete;
  refused_heavy_fences& operator=(const refused_heavy_fences&) = delete;
  ~refused_heavy_fences();
};

/// During its lifetime, the first thread that requests a heavy fence is stopped there until
/// `go_on`.
class slow_heavy_fence {
 public:
  slow_heavy_fence() noexcept;
  slow_heavy_fence(const slow_heavy_fence&) = delete;
  slow_heavy_fence& operator=(const slow_heavy_fence&) = delete;
  ~slow_heavy_fence();

  /// Returns whether a thread has been stopped there.
  [[nodiscard]] static bool was_reached() noexcept;
  static void go_on() noexcept;
};

/// Takes the heavy fence away from the system, for pools that are made from now on.
void take_heavy_fence_away(bool yes) noexcept;

/// Empties the table that unused pools share, in the first call of each execution: it outlives
/// them.
void forget_unused_caches() noexcept;

}  // namespace model
