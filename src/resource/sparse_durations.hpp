/// @file
/// Internal. Counts of lengths of time, of which most pools see few.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "duration_counts.hpp"

namespace lido::inline v0::detail {

/// Counts of lengths, under a mutex. The buckets of each power of two are made when the first
/// length comes: a pool that does little needs little. Without memory for them a length is missing.
class sparse_durations {
 public:
  static constexpr std::size_t parts = std::size_t{1} << duration_buckets::part_bits;
  using part = std::array<std::uint64_t, parts>;

  void add(std::chrono::nanoseconds length) noexcept {
    const std::size_t index = duration_buckets::index_of(length.count());
    std::unique_ptr<part>& counts = powers_[index / parts];
    if (counts == nullptr) {
      counts.reset(new (std::nothrow) part{});
    }
    if (counts != nullptr) {
      ++(*counts)[index % parts];
      sum_ += (std::max)(length, std::chrono::nanoseconds(0));
    }
  }
  [[nodiscard]] std::chrono::nanoseconds sum() const noexcept { return sum_; }
  [[nodiscard]] std::uint64_t count(std::size_t index) const noexcept {
    const std::unique_ptr<part>& counts = powers_[index / parts];
    return counts != nullptr ? (*counts)[index % parts] : 0;
  }

 private:
  std::array<std::unique_ptr<part>, duration_buckets::size / parts> powers_;
  std::chrono::nanoseconds sum_{0};
};

}  // namespace lido::inline v0::detail
