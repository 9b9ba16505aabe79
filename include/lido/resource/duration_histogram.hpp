/// @file
/// Public. `duration_histogram`, which counts durations by length.
#pragma once

#include <cstdint>
#include <vector>

#include "lido/base/durations.hpp"

namespace lido::inline v0 {

namespace detail {
struct duration_counts;
class sparse_durations;
}  // namespace detail

/// Counts durations by length, up to 73 minutes, with an error of at most 1.6 %. A value type, not
/// thread-safe.
class duration_histogram {
 public:
  /// Creates an empty histogram. Throws std::bad_alloc.
  duration_histogram();

  /// Counts one duration. A negative `length` counts as 0.
  void add(std::chrono::nanoseconds length) noexcept;
  /// Adds the durations that other threads have counted in `others` so far.
  void add(const detail::duration_counts& others) noexcept;
  /// Adds the durations in `others`. Requires: no other thread counts durations in `others` during
  /// the call.
  void add(const detail::sparse_durations& others) noexcept;

  /// Returns the number of durations.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// Returns the sum of all durations.
  [[nodiscard]] std::chrono::nanoseconds sum() const noexcept { return sum_; }
  /// Returns the length that the fraction `part` of all durations does not exceed. `part` is from 0
  /// to 1. Returns 0 if there are no durations.
  [[nodiscard]] std::chrono::nanoseconds quantile(double part) const noexcept;
  /// Returns the number of durations that are not longer than `length`.
  [[nodiscard]] std::uint64_t count_up_to(std::chrono::nanoseconds length) const noexcept;

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::chrono::nanoseconds sum_{0};
};

/// The durations of operations of a resource pool. In a keyed pool, these are the operations of all
/// keys.
struct resource_pool_times {
  duration_histogram waits;    ///< waits in the queue that ended with a resource
  duration_histogram creates;  ///< successful calls of `create`
  duration_histogram uses;     ///< times from acquire to release; only with the option `time_uses`
};

}  // namespace lido::inline v0
