/// @file
/// Internal. Text that is written where memory may be short and nothing may throw.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

namespace lido::detail {

/// Grows to a length of `Size`; what does not fit is cut off.
template <std::size_t Size>
class fixed_text {
 public:
  fixed_text& operator<<(std::string_view text) noexcept {
    const std::size_t size = std::min(text.size(), room_.size() - size_);
    std::memcpy(room_.data() + size_, text.data(), size);
    size_ += size;
    return *this;
  }

  fixed_text& operator<<(std::unsigned_integral auto number) noexcept { return append(number, 10); }

  fixed_text& address(const void* address) noexcept {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): to be printed
    return hex(reinterpret_cast<std::uintptr_t>(address));
  }

  fixed_text& hex(std::uintptr_t number) noexcept { return (*this << "0x").append(number, 16); }

  [[nodiscard]] std::string_view view() const noexcept { return {room_.data(), size_}; }

 private:
  /// Not into the room, of which a number that does not fit would leave nobody knows what.
  fixed_text& append(std::uint64_t number, int base) noexcept {
    std::array<char, std::numeric_limits<std::uint64_t>::digits10 + 1> digits;
    const auto done = std::to_chars(digits.data(), digits.data() + digits.size(), number, base);
    return *this << std::string_view(digits.data(), done.ptr);
  }

  std::array<char, Size> room_;
  std::size_t size_ = 0;
};

/// A whole report, of which a thread's stack has room for one.
using report_text = fixed_text<6144>;
/// The name of a file, or an address.
using report_line = fixed_text<64>;

}  // namespace lido::detail
