/// @file
/// Internal. The number that names a slot, and the number that names none.
#pragma once

#include <cstdint>

namespace lido::detail {

/// Position of a slot in its pool's array: 0 to capacity - 1.
using slot_index = std::uint32_t;

/// Names no slot. Never a valid index: a pool holds at most `max_capacity` slots.
inline constexpr slot_index null_slot = 0xFFFF'FFFF;

/// Largest capacity of a pool; the two indices above the last one stay free for markers.
inline constexpr std::uint32_t max_capacity = 0xFFFF'FFFE;

}  // namespace lido::detail
