/// @file
/// Internal. Text that stands in every export, and in every trace, as it is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace lido::detail {

/// Bytes of the character in UTF-8 that the text begins with, which is not empty. 0: it begins with
/// none, as RFC 3629 has them: in the shortest form, no surrogates, nothing beyond U+10FFFF.
[[nodiscard]] constexpr std::size_t first_character(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  const std::size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (size == 1) {
    return 1;
  }
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) {
    return 0;
  }
  for (std::size_t i = 1; i != size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) {
      return 0;
    }
  }
  const unsigned least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return byte(1) >= least && byte(1) <= most ? size : 0;
}

/// Copies what fits, whole characters, and returns its length. A quote, a backslash, a control
/// character of ASCII and each byte that is no UTF-8 become a `?`.
constexpr std::size_t copy_plain(std::string_view from, std::span<char> to) noexcept {
  std::size_t length = 0;
  while (!from.empty()) {
    const std::size_t size = first_character(from);
    const std::size_t step = std::max<std::size_t>(size, 1);
    if (step > to.size() - length) {
      break;
    }
    const auto c = static_cast<unsigned char>(from.front());
    const bool is_special = c < ' ' || c == 0x7F || c == '"' || c == '\\';
    if (size == 0 || is_special) {
      to[length] = '?';
    } else {
      std::copy_n(from.begin(), size, to.begin() + static_cast<std::ptrdiff_t>(length));
    }
    length += step;
    from.remove_prefix(step);
  }
  return length;
}

}  // namespace lido::detail
