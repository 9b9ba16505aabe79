/// @file
/// Counts the tokens and lines of a piece of text.
#pragma once

#include <cstddef>
#include <string_view>

#include "counts.hpp"

namespace demo {

/// Counts the tokens that begin in [begin, end) of `text` and adds them to `found`.
///
/// A word is a longest run of letters, digits, '_' and bytes above 127. A word that begins with a
/// digit is a number, any other is an identifier; every other byte that is not white space is a
/// token of its own ("other"). A line is a newline character, as `wc -l` counts them.
///
/// A word belongs to the piece it begins in: the scan skips the rest of a word that began before
/// `begin` and reads past `end` to finish its last word. So the counts of pieces that cover a text
/// add up to the counts of the text, wherever the borders are.
void scan(std::string_view text, std::size_t begin, std::size_t end, counts& found) noexcept;

}  // namespace demo
