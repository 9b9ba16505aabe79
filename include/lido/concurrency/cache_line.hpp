/// @file
/// Internal. How far apart words must be that different threads write.
#pragma once

#include <cstddef>

namespace lido::detail {

/// Fixed, not std::hardware_destructive_interference_size: that one varies with compiler flags, and
/// this one is part of the layout that a header and the compiled library share.
inline constexpr std::size_t cache_line = 64;

/// Two lines: x86 fetches lines in pairs and some arm64 cores have lines of 128 bytes.
inline constexpr std::size_t no_false_sharing = 128;

}  // namespace lido::detail
