/// @file
/// Internal. Text that needs no escaping in any export or trace.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace lido::inline v0::detail {

/// Returns the length in bytes of the UTF-8 character at the start of `text`. Returns 0 if `text`
/// does not begin with a character that is valid by RFC 3629: in its shortest form, not a
/// surrogate, at most U+10FFFF. Requires: `text` is not empty.
[[nodiscard]] constexpr std::size_t first_character(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  struct form {
    unsigned first_lead;
    unsigned last_lead;
    unsigned first_second;  // lowest second byte
    unsigned last_second;
    std::size_t size;
  };
  constexpr std::array forms{
      form{0xC2, 0xDF, 0x80, 0xBF, 2}, form{0xE0, 0xE0, 0xA0, 0xBF, 3},
      form{0xE1, 0xEC, 0x80, 0xBF, 3}, form{0xED, 0xED, 0x80, 0x9F, 3},
      form{0xEE, 0xEF, 0x80, 0xBF, 3}, form{0xF0, 0xF0, 0x90, 0xBF, 4},
      form{0xF1, 0xF3, 0x80, 0xBF, 4}, form{0xF4, 0xF4, 0x80, 0x8F, 4},
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) {
    return 1;
  }
  // NOLINTNEXTLINE(readability-qualified-auto): a pointer only in some libraries
  const auto found = std::find_if(forms.begin(), forms.end(),
                                  [&](const form& one) { return lead <= one.last_lead; });
  if (found == forms.end() || lead < found->first_lead || text.size() < found->size ||
      byte(1) < found->first_second || byte(1) > found->last_second) {
    return 0;
  }
  const std::string_view rest = text.substr(2, found->size - 2);
  const bool whole = std::all_of(rest.begin(), rest.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80;
  });
  return whole ? found->size : 0;
}

/// Copies the characters that fit completely into `to`, and returns the number of bytes written.
/// Writes a `?` instead of each quote, backslash, ASCII control character and byte that is not
/// UTF-8.
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

}  // namespace lido::inline v0::detail
