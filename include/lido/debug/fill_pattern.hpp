/// @file
/// Internal. The content of free slots in a checked pool, which reveals writes after a release.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lido/base/assert.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

/// Bytes that read as 0x1deadb0b in little-endian words.
inline constexpr auto fill_bytes = [] {
  std::array<std::byte, 64> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes.at(i) = static_cast<std::byte>(0x1DEADB0BU >> i % 4 * 8);
  }
  return bytes;
}();

/// Fills the watched bytes of a free slot, and finds writes to them. A slot of up to `whole` bytes
/// is watched completely. In a larger slot, the first and last sixteen bytes are watched, and also
/// a window of 32 bytes. The window moves by the golden ratio from use to use. Multiples of that
/// ratio spread evenly, whatever the rhythm of a mistake (Knuth, The Art of Computer Programming 3,
/// 6.4).
class fill_pattern {
 public:
  static constexpr std::size_t least_whole = 64;

  /// Requires: whole >= least_whole.
  [[LIDO_ASSERTS]] constexpr fill_pattern(std::size_t size, std::size_t whole) noexcept
      : size_(size), watches_all_(size <= whole) {
    LIDO_ASSERT(whole >= least_whole, "parts of a slot too small for them are watched");
  }

  [[nodiscard]] constexpr bool watches_all() const noexcept { return watches_all_; }

  [[LIDO_ALWAYS_INLINE]] void fill(void* slot, std::uint64_t use) const noexcept {
    visit_parts(use, filler{static_cast<std::byte*>(slot)});
  }

  /// Returns true if all bytes that are watched after `use` are as `fill` left them.
  [[nodiscard, LIDO_ALWAYS_INLINE]] bool is_intact(const void* slot,
                                                   std::uint64_t use) const noexcept {
    bool intact = true;
    visit_parts(use, comparison{static_cast<const std::byte*>(slot), intact});
    return intact;
  }

  /// Returns the offset of the first watched byte that differs from `fill`, or the slot's size if
  /// none does.
  [[nodiscard]] std::size_t first_overwritten(const void* slot, std::uint64_t use) const noexcept {
    const auto* const bytes = static_cast<const std::byte*>(slot);
    std::size_t first = size_;
    visit_parts(use, [&](std::size_t at, std::size_t size) {
      for (std::size_t i = 0; i < size; ++i) {
        first = bytes[at + i] != fill_bytes.at(i) ? (std::min)(first, at + i) : first;
      }
    });
    return first;
  }

 private:
  static constexpr std::size_t edge = 16;
  static constexpr std::size_t window = 32;
  /// The fraction of the golden ratio, times 2^64.
  static constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15;

  // These are not lambdas, since lambdas cannot have the attribute in standard C++20.
  struct filler {
    [[LIDO_ALWAYS_INLINE]] void operator()(std::size_t at, std::size_t size) const noexcept {
      std::memcpy(slot + at, fill_bytes.data(), size);
    }
    std::byte* slot;
  };
  struct comparison {
    [[LIDO_ALWAYS_INLINE]] void operator()(std::size_t at, std::size_t size) const noexcept {
      intact = intact && std::memcmp(slot + at, fill_bytes.data(), size) == 0;
    }
    const std::byte* slot;
    bool& intact;
  };

  template <class Visitor>
  [[LIDO_ALWAYS_INLINE]] void visit_parts(std::uint64_t use, const Visitor& visit) const noexcept {
    if (watches_all_) {
      std::size_t at = 0;
      for (; size_ - at >= fill_bytes.size(); at += fill_bytes.size()) {
        visit(at, fill_bytes.size());
      }
      visit(at, size_ - at);
      return;
    }
    // Windows start at multiples of their size, except for the last window, which ends where the
    // last edge begins. If the slot's size is not a power of two, that last window replaces any
    // window that would start after it.
    const std::uint64_t mask = std::bit_ceil(size_) - window;
    const auto shift = static_cast<unsigned>(std::countl_zero(mask));
    const std::size_t last = size_ - window - edge;
    visit(0, edge);
    const std::size_t start = use * golden_ratio >> shift & mask & SIZE_MAX;
    visit((std::min)(start, last), window);
    visit(last + window, edge);
  }

  std::size_t size_;
  bool watches_all_;
};

}  // namespace lido::inline v0::detail
