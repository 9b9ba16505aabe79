/// @file
/// Internal. Counts durations in little memory, since most pools count few of them.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "duration_counts.hpp"
#include "lido/base/fail.hpp"

namespace lido::inline v0::detail {

/// Counts durations. Guarded by a mutex of its owner. Allocates each part of the buckets when the
/// first duration in it is counted, so that a pool with little activity needs little memory. If
/// there is no memory for a part, the duration is not counted.
class sparse_durations {
 public:
  void add(std::chrono::nanoseconds length) noexcept {
    const std::size_t index = duration_buckets::index_of(length.count());
    std::uint8_t& number = numbers_[index / buckets];
    if (number == 0 &&
        !attempt([this] { return parts_.emplace_back(), true; }, [] { return false; })) {
      return;
    }
    number = number != 0 ? number : static_cast<std::uint8_t>(parts_.size());
    ++parts_[number - 1U][index % buckets];
    sum_ += (std::max)(length, std::chrono::nanoseconds(0));
  }
  [[nodiscard]] std::chrono::nanoseconds sum() const noexcept { return sum_; }
  [[nodiscard]] std::uint64_t count(std::size_t index) const noexcept {
    const std::uint8_t number = numbers_[index / buckets];
    return number != 0 ? parts_[number - 1U][index % buckets] : 0;
  }

 private:
  static constexpr std::size_t buckets = 16;  ///< number of buckets in a part
  using part = std::array<std::uint64_t, buckets>;

  std::array<std::uint8_t, duration_buckets::size / buckets>
      numbers_{};  ///< number of each part, counted from 1; 0 if the part is not allocated
  std::vector<part> parts_;
  std::chrono::nanoseconds sum_{0};
};

}  // namespace lido::inline v0::detail
