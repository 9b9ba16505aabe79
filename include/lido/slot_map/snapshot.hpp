/// @file
/// Public. `slot_map_snapshot<T>`: the content of a slot map as plain arrays.
#pragma once

#include <cstdint>
#include <span>

#include "lido/base/slot_index.hpp"

namespace lido::inline v0 {

/// Identifies version 1 of the snapshot format. A program with the other byte order reads another
/// number, so the number also reveals the byte order of a snapshot.
inline constexpr std::uint32_t slot_map_format = 0x4C53'0001;

/// The content of a `slot_map` as plain arrays, which can be copied or written to a file. The
/// result of `snapshot()` is valid until the map changes.
template <class T>
struct slot_map_snapshot {
  std::uint32_t format = 0;                      ///< must be `slot_map_format`
  std::span<const T> values;                     ///< the values in memory order
  std::span<const std::uint64_t> table;          ///< each slot's generation and its value's index
  std::uint32_t first_free = detail::null_slot;  ///< first free slot; 2^32 - 1 if there is none
  std::uint32_t first_generation = 1;            ///< first generation of slots that are added later
};

}  // namespace lido::inline v0
