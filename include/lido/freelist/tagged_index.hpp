/// @file
/// Internal. The head word of a free list: an index and a tag in 64 bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "lido/base/slot_index.hpp"

namespace lido::detail {

/// Packs and unpacks head words. The index gets as many bits as the number of nodes needs; every
/// remaining bit is tag, unless `MaxTagBits` narrows it, as `testing::narrow_tags` does.
///
/// With 2^20 nodes the tag has 43 bits. At 50 million pushes a second it repeats after two days. A
/// pop is fooled only if it is suspended for exactly that long.
template <unsigned MaxTagBits = 64>
class tagged_index_format {
 public:
  explicit constexpr tagged_index_format(std::uint32_t nodes) noexcept
      // 64 bits, because some libraries' bit_width returns the type of its argument: for `nodes`
      // itself the cast would be redundant there.
      : index_bits_(std::max(1U, static_cast<unsigned>(std::bit_width(std::uint64_t{nodes})))),
        index_mask_((std::uint64_t{1} << index_bits_) - 1),
        tag_mask_(low_bits(std::min(MaxTagBits, 64 - index_bits_))) {}

  [[nodiscard]] constexpr slot_index index_of(std::uint64_t word) const noexcept {
    const std::uint64_t index = word & index_mask_;
    return index == index_mask_ ? null_slot : static_cast<slot_index>(index);
  }

  [[nodiscard]] constexpr std::uint64_t tag_of(std::uint64_t word) const noexcept {
    return word >> index_bits_;
  }

  /// `index` may be null_slot: all ones, which no valid index is, since index < nodes.
  [[nodiscard]] constexpr std::uint64_t make(slot_index index, std::uint64_t tag) const noexcept {
    return ((tag & tag_mask_) << index_bits_) | (index & index_mask_);
  }

  [[nodiscard]] constexpr unsigned tag_bits() const noexcept {
    return static_cast<unsigned>(std::popcount(tag_mask_));
  }

 private:
  static constexpr std::uint64_t low_bits(unsigned bits) noexcept {
    return (std::uint64_t{1} << bits) - 1;  // bits < 64: an index has at least one
  }

  unsigned index_bits_;
  std::uint64_t index_mask_;
  std::uint64_t tag_mask_;
};

}  // namespace lido::detail
