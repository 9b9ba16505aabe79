/// @file
/// Lines between the gateway, its clients and its backends.
#pragma once

#include <cstddef>

namespace gateway {

/// The longest line that the gateway reads: an endless one could take all memory.
inline constexpr std::size_t longest_line = 4096;

}  // namespace gateway
