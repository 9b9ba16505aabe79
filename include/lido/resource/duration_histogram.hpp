/// @file
/// Public. `duration_histogram`: how many of many lengths of time were how long.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0 {

namespace detail {

/// Log-linear buckets of nanoseconds, as those of HdrHistogram: 32 to each power of two, so that
/// the middle of one is at most 1.6 % from all that it counts. Those below 64 ns are exact; the
/// last counts all from 73 minutes on.
struct duration_buckets {
  static constexpr int part_bits = 5;
  static constexpr int longest_bits = 42;
  static constexpr std::size_t size = std::size_t{longest_bits - part_bits + 1} << part_bits;

  [[nodiscard]] static constexpr std::size_t index_of(std::int64_t nanoseconds) noexcept {
    constexpr std::int64_t longest = (std::int64_t{1} << longest_bits) - 1;
    const auto length =
        static_cast<std::uint64_t>(std::clamp<std::int64_t>(nanoseconds, 0, longest));
    const int shift = (std::max)(static_cast<int>(std::bit_width(length)) - part_bits - 1, 0);
    return (static_cast<std::size_t>(shift) << part_bits) +
           static_cast<std::uint32_t>(length >> shift);
  }
  /// Nanoseconds in the middle of a bucket.
  [[nodiscard]] static constexpr std::int64_t middle_of(std::size_t index) noexcept {
    const std::size_t shift = std::max<std::size_t>(index >> part_bits, 1) - 1;
    const std::uint64_t lowest = std::uint64_t{index - (shift << part_bits)} << shift;
    return static_cast<std::int64_t>(lowest + ((std::uint64_t{1} << shift) - 1) / 2);
  }
};

/// The same counts, written by one thread while others read them.
struct duration_counts {
  atomic<std::uint64_t> sum;
  atomic<std::uint64_t> buckets[duration_buckets::size];  // NOLINT(*-avoid-c-arrays): of zeros

  /// `shared`: other threads write here, too.
  // relaxed (whole function): numbers for statistics
  void add(std::int64_t nanoseconds, bool shared) noexcept {
    const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(nanoseconds, 0));
    atomic<std::uint64_t>& bucket = buckets[duration_buckets::index_of(nanoseconds)];
    if (shared) {
      sum.fetch_add(length, std::memory_order_relaxed);
      bucket.fetch_add(1, std::memory_order_relaxed);
    } else {
      sum.store(sum.load(std::memory_order_relaxed) + length, std::memory_order_relaxed);
      bucket.store(bucket.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  }
};

}  // namespace detail

/// Lengths of time and how often each occurred, at most 1.6 % off, up to 73 minutes. A value: one
/// thread at a time.
class duration_histogram {
 public:
  duration_histogram() : counts_(detail::duration_buckets::size) {}

  void add(std::chrono::nanoseconds length) noexcept {
    ++counts_[detail::duration_buckets::index_of(length.count())];
    ++count_;
    sum_ += (std::max)(length, std::chrono::nanoseconds(0));
  }
  /// What another thread has counted so far.
  // relaxed (whole function): numbers for statistics
  void add(const detail::duration_counts& others) noexcept {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const std::uint64_t count = others.buckets[i].load(std::memory_order_relaxed);
      counts_[i] += count;
      count_ += count;
    }
    sum_ += std::chrono::nanoseconds(others.sum.load(std::memory_order_relaxed));
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::chrono::nanoseconds sum() const noexcept { return sum_; }
  /// The length that the part `part` of all, 0 to 1, does not exceed; 0 if there are none.
  [[nodiscard]] std::chrono::nanoseconds quantile(double part) const noexcept {
    const double rank = std::clamp(part, 0.0, 1.0) * static_cast<double>(count_);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; count_ != 0 && i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen != 0 && static_cast<double>(seen) >= rank) {
        return std::chrono::nanoseconds(detail::duration_buckets::middle_of(i));
      }
    }
    return {};
  }
  [[nodiscard]] std::uint64_t count_up_to(std::chrono::nanoseconds length) const noexcept {
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += detail::duration_buckets::middle_of(i) <= length.count() ? counts_[i] : 0;
    }
    return seen;
  }

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
