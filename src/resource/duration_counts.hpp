/// @file
/// Internal. The buckets of a histogram of durations, and counts that other threads read.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0::detail {

/// Log-linear buckets of nanoseconds, like those of HdrHistogram. Each power of two has 32 buckets,
/// so the middle of a bucket is within 1.6 % of every duration that it counts. Buckets below 64 ns
/// are exact. The last bucket counts all durations of 73 minutes or more.
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
  /// Returns the middle of a bucket, in nanoseconds.
  [[nodiscard]] static constexpr std::int64_t middle_of(std::size_t index) noexcept {
    const std::size_t shift = std::max<std::size_t>(index >> part_bits, 1) - 1;
    const std::uint64_t lowest = std::uint64_t{index - (shift << part_bits)} << shift;
    return static_cast<std::int64_t>(lowest + ((std::uint64_t{1} << shift) - 1) / 2);
  }
};

/// The counts of a `duration_histogram`, which any thread may read at any time. Either a single
/// thread calls `add`, or several threads do and pass true for `shared`.
struct duration_counts {
  atomic<std::uint64_t> sum;
  atomic<std::uint64_t> buckets[duration_buckets::size];  // NOLINT(*-avoid-c-arrays): all zeros

  /// Counts a duration. `shared` is true if other threads write to these counts, too.
  // relaxed (whole function): only statistics
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

}  // namespace lido::inline v0::detail
