/// @file
/// The counts of a text, and how counts of parts add up to those of the whole.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace demo {

enum class counter : std::uint8_t { bytes, lines, identifiers, numbers, others };

inline constexpr std::array<std::string_view, 5> counter_names{"bytes", "lines", "identifiers",
                                                               "numbers", "others"};

/// A word with its full length; only the first bytes of a very long one are stored.
struct long_word {
  std::uint32_t length;
  std::array<char, 64> start;

  void clear() noexcept { length = 0; }

  void assign(std::string_view word) noexcept {
    length = static_cast<std::uint32_t>(std::min<std::size_t>(word.size(), UINT32_MAX));
    std::memcpy(start.data(), word.data(), std::min(word.size(), start.size()));
  }

  [[nodiscard]] std::string_view text() const noexcept {
    return {start.data(), std::min<std::size_t>(length, start.size())};
  }

  /// A total order, so that the longest of all does not depend on the order of the jobs.
  [[nodiscard]] bool longer_than(const long_word& other) const noexcept {
    return length != other.length ? length > other.length : text() < other.text();
  }
};

/// Left uninitialised on purpose: it is part of a pooled job, which clears it before use.
struct counts {
  std::array<std::uint64_t, counter_names.size()> values;
  long_word longest;

  void clear() noexcept {
    values.fill(0);
    longest.clear();
  }

  std::uint64_t& operator[](counter which) noexcept {
    return values[static_cast<std::size_t>(which)];
  }
  std::uint64_t operator[](counter which) const noexcept {
    return values[static_cast<std::size_t>(which)];
  }

  void add(const counts& part) noexcept {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] += part.values[i];
    }
    if (part.longest.longer_than(longest)) {
      longest = part.longest;
    }
  }
};

}  // namespace demo
