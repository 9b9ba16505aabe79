/// @file
/// Public. `duration_histogram`: counts durations by their length.
#pragma once

#include <cstdint>
#include <vector>

#include "lido/base/durations.hpp"

namespace lido::inline v0 {

namespace detail {
struct duration_counts;
class sparse_durations;
}  // namespace detail

/// Counts durations by their length, at most 1.6 % off, up to 73 minutes. A value; not thread-safe.
class duration_histogram {
 public:
  /// Throws std::bad_alloc.
  duration_histogram();

  void add(std::chrono::nanoseconds length) noexcept;
  /// Adds what other threads have counted so far.
  void add(const detail::duration_counts& others) noexcept;
  /// Adds durations, while no other thread counts any in `others`.
  void add(const detail::sparse_durations& others) noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::chrono::nanoseconds sum() const noexcept { return sum_; }
  /// Returns the length that a fraction `part`, 0 to 1, of all does not exceed; 0 if there are
  /// none.
  [[nodiscard]] std::chrono::nanoseconds quantile(double part) const noexcept;
  [[nodiscard]] std::uint64_t count_up_to(std::chrono::nanoseconds length) const noexcept;

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::chrono::nanoseconds sum_{0};
};

/// How long operations of a resource pool took; in a keyed pool, over all keys.
struct resource_pool_times {
  duration_histogram waits;    ///< waits in the queue that ended with a resource
  duration_histogram creates;  ///< successful calls of `create`
  duration_histogram uses;     ///< times from acquire to release; only with the option `time_uses`
};

}  // namespace lido::inline v0
