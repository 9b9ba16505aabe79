/// @file
/// Internal. What free slots of a checked pool are full of, so that a late write shows.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace lido::detail {

/// Read as little-endian words it says 0x1deadb0b.
inline constexpr std::uint32_t fill_word = 0x1DEADB0B;
inline constexpr std::uint64_t fill_word_pair = std::uint64_t{fill_word} << 32U | fill_word;

/// Sixteen bytes of it, by the vectors of GCC and Clang.
using fill_block [[gnu::vector_size(16)]] = std::uint64_t;
inline constexpr fill_block whole_fill_block{fill_word_pair, fill_word_pair};

/// Whether every bit is set.
[[nodiscard, gnu::always_inline]] inline bool all_set(fill_block block) noexcept {
#ifdef __SSE2__
  // One instruction where going through the halves takes four.
  return _mm_movemask_epi8(std::bit_cast<__m128i>(block)) == 0xFFFF;
#else
  return (block[0] & block[1]) == ~std::uint64_t{0};
#endif
}

/// Which bytes of a free slot are watched, and how. All of a slot of up to `whole` bytes. Of a
/// larger one the first and the last sixteen, and a window of 32 that moves by the golden ratio
/// from use to use. Its multiples come everywhere, whatever the rhythm of a mistake (Knuth, The Art
/// of Computer Programming 3, 6.4).
/// A slot is read in the widths it was written in, which a processor passes on from recent writes.
class fill_pattern {
 public:
  static constexpr std::size_t least_whole = 64;

  /// Requires: whole >= least_whole.
  constexpr fill_pattern(std::size_t size, std::size_t whole) noexcept
      : size_(size), watches_all_(size <= whole) {}

  [[nodiscard]] constexpr bool watches_all() const noexcept { return watches_all_; }

  [[gnu::always_inline]] void fill(void* slot, std::uint64_t use) const noexcept {
    auto* const bytes = static_cast<std::byte*>(slot);
    visit_words(
        use, [bytes](std::size_t at, auto word)
                 __attribute__((always_inline)) { std::memcpy(bytes + at, &word, sizeof(word)); });
  }

  /// Whether all that is watched after that use is as `fill` left it.
  [[nodiscard, gnu::always_inline]] bool is_intact(const void* slot,
                                                   std::uint64_t use) const noexcept {
    const auto* const bytes = static_cast<const std::byte*>(slot);
    fill_block equal = ~fill_block{};
    std::uint64_t rest = 0;
    visit_words(
        use, [&](std::size_t at, auto word) __attribute__((always_inline)) {
          decltype(word) found;
          std::memcpy(&found, bytes + at, sizeof(word));
          if constexpr (sizeof(word) == sizeof(fill_block)) {
            using vector [[gnu::vector_size(16)]] = std::uint8_t;
            equal &= std::bit_cast<fill_block>(std::bit_cast<vector>(found) ==
                                               std::bit_cast<vector>(word));
          } else {
            rest |= static_cast<std::uint64_t>(found ^ word);
          }
        });
    return all_set(equal) && rest == 0;
  }

  /// Offset of the first watched byte that is not as `fill` left it; the slot's size if all are.
  [[nodiscard]] std::size_t first_overwritten(const void* slot, std::uint64_t use) const noexcept {
    const auto* const bytes = static_cast<const std::byte*>(slot);
    std::size_t first = size_;
    visit_words(use, [&](std::size_t at, auto word) {
      std::array<std::byte, sizeof(word)> wanted;
      std::memcpy(wanted.data(), &word, sizeof(word));
      const auto differs = std::mismatch(wanted.begin(), wanted.end(), bytes + at);
      if (differs.first != wanted.end()) {
        first = std::min(first, static_cast<std::size_t>(differs.second - bytes));
      }
    });
    return first;
  }

 private:
  static constexpr std::size_t edge = 16;
  static constexpr std::size_t window = 2 * sizeof(fill_block);
  /// Its fraction, as one of 2^64.
  static constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15;

  /// Of a part of a slot, from wide to narrow.
  template <class Visitor>
  [[gnu::always_inline]] static void visit_part(std::size_t first, std::size_t size,
                                                const Visitor& visit) noexcept {
    const std::size_t end = first + size;
#ifndef __clang__  // which warns where it does not
#pragma GCC unroll 4
#endif
    for (; first + sizeof(fill_block) <= end; first += sizeof(fill_block)) {
      visit(first, whole_fill_block);
    }
    if ((size & 8U) != 0) {
      visit(first, fill_word_pair);
      first += 8;
    }
    if ((size & 4U) != 0) {
      visit(first, fill_word);
      first += 4;
    }
    if ((size & 2U) != 0) {
      visit(first, static_cast<std::uint16_t>(fill_word));
      first += 2;
    }
    if ((size & 1U) != 0) {
      visit(first, static_cast<std::uint8_t>(fill_word >> ((size & 2U) != 0 ? 16U : 0U)));
    }
  }

  template <class Visitor>
  [[gnu::always_inline]] void visit_words(std::uint64_t use, const Visitor& visit) const noexcept {
    if (watches_all_) {
      visit_part(0, size_, visit);
      return;
    }
    // All masks and shifts, because it is done for each acquire and each release. Of a size that
    // is no power of two the windows too many are the last one once more.
    const std::size_t mask = std::bit_ceil(size_) - window;
    const auto shift = static_cast<unsigned>(std::countl_zero(mask));
    // Behind the last word the pattern is out of step with the last sixteen bytes.
    const std::size_t last = size_ - window - (size_ % sizeof(fill_word) == 0 ? 0 : edge);
    const std::size_t start = std::min(use * golden_ratio >> shift & mask, last);
    visit_part(0, edge, visit);
    // Written out: of a loop whose beginning is no constant GCC keeps the branches.
    visit(start, whole_fill_block);
    visit(start + window / 2, whole_fill_block);
    visit_part(size_ - edge, edge, visit);
  }

  std::size_t size_;
  bool watches_all_;
};

}  // namespace lido::detail
