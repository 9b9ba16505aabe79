/// @file
/// Internal. What free slots of a checked pool are full of, so that a late write shows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lido::detail {

/// Read as little-endian words it says 0x1deadb0b.
inline constexpr std::uint32_t fill_word = 0x1DEADB0B;
inline constexpr std::uint64_t fill_word_pair = std::uint64_t{fill_word} << 32U | fill_word;

/// Fills `size` bytes. Inlined, because `size` is a constant where it is worth it.
[[gnu::always_inline]] inline void fill(void* slot, std::size_t size) noexcept {
  auto* const bytes = static_cast<std::byte*>(slot);
  std::size_t at = 0;
  for (; at + sizeof(fill_word_pair) <= size; at += sizeof(fill_word_pair)) {
    std::memcpy(bytes + at, &fill_word_pair, sizeof(fill_word_pair));
  }
  std::memcpy(bytes + at, &fill_word_pair, size - at);
}

/// Whether all of `size` bytes are as `fill` left them.
[[nodiscard, gnu::always_inline]] inline bool is_filled(const void* slot,
                                                        std::size_t size) noexcept {
  const auto* const bytes = static_cast<const std::byte*>(slot);
  std::uint64_t difference = 0;
  std::size_t at = 0;
  for (; at + sizeof(fill_word_pair) <= size; at += sizeof(fill_word_pair)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, sizeof(word));
    difference |= word ^ fill_word_pair;
  }
  std::uint64_t rest = fill_word_pair;
  std::memcpy(&rest, bytes + at, size - at);
  return (difference | (rest ^ fill_word_pair)) == 0;
}

/// Offset of the first byte that is not as `fill` left it; `size` if there is none.
[[nodiscard]] inline std::size_t first_overwritten(const void* slot, std::size_t size) noexcept {
  const auto* const bytes = static_cast<const std::byte*>(slot);
  std::array<std::byte, sizeof(fill_word_pair)> wanted;
  std::memcpy(wanted.data(), &fill_word_pair, sizeof(fill_word_pair));
  std::size_t at = 0;
  while (at < size && bytes[at] == wanted[at % wanted.size()]) {
    ++at;
  }
  return at;
}

}  // namespace lido::detail
