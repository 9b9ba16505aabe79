/// @file
/// Internal. How the slots of a growing pool are divided into segments.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lido/base/assert.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/base/tuning.hpp"

namespace lido::inline v0::detail {

/// Divides slots into segments of equal size, a power of two. If the capacity is no multiple of
/// that size, the last segment is shorter. Each segment begins on a new page, so that its memory is
/// independent of the memory of its neighbours.
class segment_plan {
 public:
  static constexpr std::uint32_t most_segments = 1U << 16U;

  /// Plans segments for up to `capacity` slots of `stride` bytes each. Requires: neither `stride`
  /// nor `capacity` is 0; their product is at most PTRDIFF_MAX; `page` is a power of two.
  constexpr segment_plan(std::size_t stride, std::uint32_t capacity, std::size_t page) noexcept
      : capacity_(capacity), segment_slots_(slots_in_one(stride, capacity, page)) {}

  /// Returns the largest number of slots, at most `wanted`, whose segments together fit into
  /// `bytes` bytes. The result is either `wanted`, or the number of slots in a whole number of
  /// segments. It is 0 if not even one segment fits.
  [[nodiscard]] static constexpr std::uint32_t slots_within(std::size_t bytes, std::size_t stride,
                                                            std::uint32_t wanted,
                                                            std::size_t page) noexcept {
    const auto most = static_cast<std::uint32_t>(std::min<std::size_t>(wanted, bytes / stride));
    if (most == 0 || (most == wanted && pages_of(most * stride, page) <= bytes / page)) {
      return most;
    }
    const std::uint32_t one = slots_in_one(stride, most, page);
    return most / one * one;
  }

  /// Returns the maximum total number of slots of all segments.
  [[nodiscard]] constexpr std::uint32_t capacity() const noexcept { return capacity_; }

  [[nodiscard]] constexpr std::uint32_t segments() const noexcept {
    return (capacity_ - 1) / segment_slots_ + 1;
  }
  [[nodiscard]] constexpr slot_index first_of(std::uint32_t segment) const noexcept {
    return segment * segment_slots_;
  }
  [[nodiscard]] constexpr std::uint32_t slots_of(std::uint32_t segment) const noexcept {
    return (std::min)(segment_slots_, capacity_ - first_of(segment));
  }

 private:
  static constexpr std::size_t pages_of(std::size_t bytes, std::size_t page) noexcept {
    return (bytes + page - 1) / page;
  }

  [[LIDO_ASSERTS]] static constexpr std::uint32_t slots_in_one(std::size_t stride,
                                                               std::uint32_t capacity,
                                                               std::size_t page) noexcept {
    LIDO_ASSERT(stride != 0 && capacity != 0 && stride <= PTRDIFF_MAX / capacity,
                "a plan for no slots, or for more than the addresses");
    LIDO_ASSERT(std::has_single_bit(page), "a page size that is no power of two");
    // stride * 2^k is a multiple of `page` if the largest power of two that divides the product is
    // at least `page`.
    const std::size_t factor = stride & (~stride + 1);
    const std::size_t aligned = factor < page ? page / factor : 1;
    const std::size_t large = std::bit_ceil((tuning::segment_bytes + stride - 1) / stride);
    const std::size_t few = std::bit_ceil((capacity - 1) / most_segments + 1);
    return static_cast<std::uint32_t>((std::max)({aligned, large, few}));
  }

  std::uint32_t capacity_;
  std::uint32_t segment_slots_;
};

}  // namespace lido::inline v0::detail
