/// @file
/// Internal. A set of free slots, for whoever wants to know which segments are free as a whole.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "lido/base/slot_index.hpp"
#include "lido/concurrency/mapped_array.hpp"

namespace lido::detail {

/// One bit a slot. Not thread-safe.
class slot_census {
 public:
  /// Throws std::bad_alloc. Room for none of `slots` slots at first.
  explicit slot_census(std::uint32_t slots) : words_(words_for(slots)) {}

  /// Makes room for the slots below `slots`. Returns 0 or the error number of the system.
  [[nodiscard]] int extend_to(std::uint32_t slots) noexcept {
    return words_.extend_to(words_for(slots));
  }

  void insert(std::span<const slot_index> slots) noexcept {
    for (const slot_index slot : slots) {
      words_[slot / bits] |= bit_of(slot);
    }
  }

  void insert_all(slot_index first, slot_index last) noexcept {
    for (; first < last; first = next_word(first)) {
      words_[first / bits] |= mask(first, std::min(last, next_word(first)));
    }
  }

  /// Whether all slots from `first` to before `last` are in it. Requires: there is room for them.
  [[nodiscard]] bool holds_all(slot_index first, slot_index last) const noexcept {
    for (; first < last; first = next_word(first)) {
      const std::uint64_t wanted = mask(first, std::min(last, next_word(first)));
      if ((words_[first / bits] & wanted) != wanted) {
        return false;
      }
    }
    return true;
  }

  void erase(slot_index first, slot_index last) noexcept {
    for (; first < last; first = next_word(first)) {
      words_[first / bits] &= ~mask(first, std::min(last, next_word(first)));
    }
  }

  static constexpr std::size_t most_at_once = 64;

  /// Takes out the highest slots, as many as one word has, in descending order; returns how many.
  /// `end`: none at or above it is in; lowered by the call.
  [[nodiscard]] std::size_t take_highest(std::array<slot_index, most_at_once>& out,
                                         std::uint64_t& end) noexcept {
    while (end > 0 && words_[end / bits - 1] == 0) {
      end -= bits;
    }
    if (end == 0) {
      return 0;
    }
    end -= bits;
    std::uint64_t word = std::exchange(words_[end / bits], 0);
    std::size_t count = 0;
    while (word != 0) {
      const auto highest = static_cast<unsigned>(std::bit_width(word)) - 1;
      out[count++] = static_cast<slot_index>(end + highest);
      word &= ~(std::uint64_t{1} << highest);
    }
    return count;
  }

  /// Where `take_highest` begins.
  [[nodiscard]] std::uint64_t end() const noexcept { return words_.size() * bits; }

  [[nodiscard]] std::size_t memory() const noexcept { return words_.memory(); }

 private:
  static constexpr std::uint32_t bits = most_at_once;

  static constexpr std::size_t words_for(std::uint32_t slots) noexcept {
    return (std::size_t{slots} + bits - 1) / bits;
  }
  static constexpr std::uint64_t bit_of(slot_index slot) noexcept {
    return std::uint64_t{1} << slot % bits;
  }
  /// First slot of the word after that of `slot`; the highest number there is, if it is the last.
  static constexpr slot_index next_word(slot_index slot) noexcept {
    const std::uint64_t next = (std::uint64_t{slot} / bits + 1) * bits;
    return static_cast<slot_index>(std::min<std::uint64_t>(next, null_slot));
  }
  /// The bits from `first` to before `last`, in one word.
  static constexpr std::uint64_t mask(slot_index first, slot_index last) noexcept {
    const std::uint64_t from = ~std::uint64_t{0} << first % bits;
    const std::uint64_t below = last % bits == 0 ? ~std::uint64_t{0} : bit_of(last) - 1;
    return from & below;
  }

  mapped_array<std::uint64_t> words_;
};

}  // namespace lido::detail
