/// @file
/// Internal. The head word of a free list: an index and a tag in 64 bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "lido/base/slot_index.hpp"

namespace lido::inline v0::detail {

/// Packs and unpacks head words. An index is at most `nodes`; the value `nodes` itself stands for
/// no slot. An index occupies as many bits as `nodes` needs. All other bits belong to the tag,
/// unless `most_tag_bits` limits its width.
///
/// With 2^20 nodes the tag has 43 bits. At 50 million pushes per second, the tag repeats after two
/// days. A pop goes wrong only if it is suspended for exactly that long.
class tagged_index_format {
 public:
  explicit constexpr tagged_index_format(std::uint32_t nodes, unsigned most_tag_bits = 64) noexcept
      // The argument has 64 bits, because in some libraries bit_width returns the type of its
      // argument. In these libraries, the cast would be redundant if the argument were `nodes`
      // itself.
      : index_bits_((std::max)(1U, static_cast<unsigned>(std::bit_width(std::uint64_t{nodes})))),
        end_(nodes),
        index_mask_((std::uint64_t{1} << index_bits_) - 1),
        tag_mask_(low_bits((std::min)(most_tag_bits, 64 - index_bits_))) {}

  /// Returns the index that marks the end of a list. It stands for no slot.
  [[nodiscard]] constexpr slot_index end() const noexcept { return end_; }

  [[nodiscard]] constexpr slot_index index_of(std::uint64_t word) const noexcept {
    return static_cast<slot_index>(word & index_mask_);
  }

  [[nodiscard]] constexpr std::uint64_t tag_of(std::uint64_t word) const noexcept {
    return word >> index_bits_;
  }

  [[nodiscard]] constexpr std::uint64_t make(slot_index index, std::uint64_t tag) const noexcept {
    return ((tag & tag_mask_) << index_bits_) | index;
  }

  [[nodiscard]] constexpr unsigned tag_bits() const noexcept {
    return static_cast<unsigned>(std::popcount(tag_mask_));
  }

 private:
  static constexpr std::uint64_t low_bits(unsigned bits) noexcept {
    return (std::uint64_t{1} << bits) - 1;  // bits < 64: an index has at least one bit
  }

  unsigned index_bits_;
  slot_index end_;
  std::uint64_t index_mask_;
  std::uint64_t tag_mask_;
};

}  // namespace lido::inline v0::detail
