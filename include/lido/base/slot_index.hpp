/// @file
/// Internal. The index of a slot, and its conversion to an address and back.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "lido/base/assert.hpp"

namespace lido::inline v0::detail {

/// Position of a slot in its pool's array: 0 to capacity - 1.
using slot_index = std::uint32_t;

/// An index that belongs to no slot, since a pool has at most `max_capacity` slots.
inline constexpr slot_index null_slot = 0xFFFF'FFFF;

/// Largest capacity of a pool; the two values above the last index remain free for markers.
inline constexpr std::uint32_t max_capacity = 0xFFFF'FFFE;

/// Converts between indices and addresses of slots without knowing their type.
///
/// The conversion to an index divides by the stride exactly, so it needs no division instruction.
/// The stride is odd * 2^shift, and an odd number has an inverse modulo 2^32 (Warren, Hacker's
/// Delight, 10-16).
class slot_geometry {
 public:
  /// Requires: stride > 0; `base` points at `stride * capacity` bytes.
  [[LIDO_ASSERTS]] slot_geometry(std::byte* base, std::size_t stride) noexcept
      : base_(base),
        stride_(stride),
        shift_(static_cast<unsigned>(std::countr_zero(stride))),
        inverse_(inverse_of(static_cast<std::uint32_t>(stride >> shift_))) {
    LIDO_ASSERT(stride > 0, "slots of no bytes");
  }

  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }

  [[nodiscard]] void* address_of(slot_index index) const noexcept {
    return base_ + stride_ * index;
  }

  /// Returns the index of `slot`. Requires: `slot` is an address that `address_of` returned.
  [[nodiscard, LIDO_ASSERTS]] slot_index index_of(const void* slot) const noexcept {
    const auto distance = static_cast<std::size_t>(static_cast<const std::byte*>(slot) - base_);
    const slot_index index = static_cast<slot_index>(distance >> shift_) * inverse_;
    LIDO_ASSERT(stride_ * index == distance, "an address that is not that of a slot");
    return index;
  }

 private:
  // Newton's iteration: each step doubles the number of correct low bits, from 3 to 48.
  static constexpr std::uint32_t inverse_of(std::uint32_t odd) noexcept {
    std::uint32_t inverse = odd;
    for (int step = 0; step < 4; ++step) {
      inverse *= 2U - odd * inverse;
    }
    return inverse;
  }

  std::byte* base_;
  std::size_t stride_;
  unsigned shift_;
  std::uint32_t inverse_;
};

}  // namespace lido::inline v0::detail
