#include "scanner.hpp"

#include <array>
#include <cstdint>

namespace demo {
namespace {

enum class kind : std::uint8_t { other, space, digit, letter };

constexpr std::array<kind, 256> make_kinds() {
  std::array<kind, 256> kinds{};
  for (std::size_t c = 0; c < kinds.size(); ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c > 127;
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    const bool digit = c >= '0' && c <= '9';
    if (letter || digit) {
      kinds[c] = letter ? kind::letter : kind::digit;
    } else if (space) {
      kinds[c] = kind::space;
    }
  }
  return kinds;
}

constexpr std::array<kind, 256> kinds = make_kinds();

kind kind_of(char c) noexcept {
  return kinds[static_cast<unsigned char>(c)];
}

bool in_word(char c) noexcept {
  return kind_of(c) >= kind::digit;
}

std::size_t end_of_word(std::string_view text, std::size_t at) noexcept {
  while (at < text.size() && in_word(text[at])) {
    ++at;
  }
  return at;
}

void keep_longer(long_word& longest, std::string_view word) noexcept {
  if (word.size() < longest.length) {
    return;
  }
  long_word other;  // NOLINT(cppcoreguidelines-pro-type-member-init): assigned next
  other.assign(word);
  if (other.longer_than(longest)) {
    longest = other;
  }
}

}  // namespace

void scan(std::string_view text, std::size_t begin, std::size_t end, counts& found) noexcept {
  const bool began_before = begin > 0 && in_word(text[begin - 1]);
  std::size_t at = began_before ? end_of_word(text.substr(0, end), begin) : begin;
  while (at < end) {
    const std::size_t start = at++;
    switch (kind_of(text[start])) {
      case kind::space:
        found[counter::lines] += text[start] == '\n' ? 1U : 0U;
        break;
      case kind::other:
        ++found[counter::others];
        break;
      case kind::digit:
        ++found[counter::numbers];
        at = end_of_word(text, at);
        break;
      case kind::letter:
        ++found[counter::identifiers];
        at = end_of_word(text, at);
        keep_longer(found.longest, text.substr(start, at - start));
        break;
    }
  }
  found[counter::bytes] += end - begin;
}

}  // namespace demo
