/// @file
/// Makes text from file names and file contents safe to print.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace demo {

/// Replaces every byte outside printable ASCII by '?': a file name must not control the terminal.
inline std::string printable(std::string_view text) {
  std::string safe(text);
  std::replace_if(
      safe.begin(), safe.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return safe;
}

}  // namespace demo
