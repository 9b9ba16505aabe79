/// @file
/// Turns the bytes of an input into numbers. An input that is used up gives zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fuzz {

class byte_reader {
 public:
  explicit byte_reader(std::span<const std::uint8_t> bytes) noexcept : rest_(bytes) {}

  [[nodiscard]] bool more() const noexcept { return !rest_.empty(); }

  std::uint8_t byte() noexcept {
    if (rest_.empty()) {
      return 0;
    }
    const std::uint8_t first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }

  /// Returns 0 to `limit` - 1, and at most 255. Requires: limit > 0.
  std::size_t below(std::size_t limit) noexcept { return byte() % limit; }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace fuzz
