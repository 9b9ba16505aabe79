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
#include <string_view>

namespace lido::detail {

/// Grows to a fixed length; what does not fit is cut off.
class report_text {
 public:
  report_text& operator<<(std::string_view text) noexcept {
    const std::size_t size = std::min(text.size(), room_.size() - size_);
    std::memcpy(room_.data() + size_, text.data(), size);
    size_ += size;
    return *this;
  }

  report_text& operator<<(std::unsigned_integral auto number) noexcept {
    return append(number, 10);
  }

  report_text& address(const void* address) noexcept {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): to be printed
    return hex(reinterpret_cast<std::uintptr_t>(address));
  }

  report_text& hex(std::uintptr_t number) noexcept { return (*this << "0x").append(number, 16); }

  [[nodiscard]] std::string_view view() const noexcept { return {room_.data(), size_}; }

 private:
  report_text& append(std::unsigned_integral auto number, int base) noexcept {
    char* const end = room_.data() + room_.size();
    const auto done = std::to_chars(room_.data() + size_, end, number, base);
    size_ = static_cast<std::size_t>(done.ptr - room_.data());
    return *this;
  }

  std::array<char, 6144> room_;
  std::size_t size_ = 0;
};

}  // namespace lido::detail
