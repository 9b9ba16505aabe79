/// @file
/// Lines between the gateway and who it speaks with.
#pragma once

#include <cstddef>

namespace gateway {

/// Who sends more without an end of line is not listened to any more: it would take all memory.
inline constexpr std::size_t longest_line = 4096;

}  // namespace gateway
