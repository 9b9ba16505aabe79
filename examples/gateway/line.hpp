/// @file
/// Lines between the gateway, its clients and its backends.
#pragma once

#include <cstddef>

namespace gateway {

/// The gateway reads no more than this without an end of line: such a line could take all memory.
inline constexpr std::size_t longest_line = 4096;

}  // namespace gateway
