/// @file
/// Public. `duration_histogram`: how many of many lengths of time were how long.
#pragma once

#include <cstdint>
#include <vector>

#include "lido/base/durations.hpp"

namespace lido::inline v0 {

namespace detail {
struct duration_counts;
class sparse_durations;
}  // namespace detail

/// Lengths of time and how often each occurred, at most 1.6 % off, up to 73 minutes. A value: one
/// thread at a time.
class duration_histogram {
 public:
  /// Throws std::bad_alloc.
  duration_histogram();

  void add(std::chrono::nanoseconds length) noexcept;
  /// What another thread has counted so far.
  void add(const detail::duration_counts& others) noexcept;
  /// Adds lengths that no other thread counts meanwhile.
  void add(const detail::sparse_durations& others) noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::chrono::nanoseconds sum() const noexcept { return sum_; }
  /// The length that the part `part` of all, 0 to 1, does not exceed; 0 if there are none.
  [[nodiscard]] std::chrono::nanoseconds quantile(double part) const noexcept;
  [[nodiscard]] std::uint64_t count_up_to(std::chrono::nanoseconds length) const noexcept;

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::chrono::nanoseconds sum_{0};
};

/// How long calls of a resource pool took; of a pool with keys, for all keys.
struct resource_pool_times {
  duration_histogram waits;    ///< stays in the queue that ended with a resource
  duration_histogram creates;  ///< calls of `create` that made one
  duration_histogram uses;     ///< from acquire to release; only with the option `time_uses`
};

}  // namespace lido::inline v0
