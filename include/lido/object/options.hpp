/// @file
/// Public. How an object pool is set up at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lido {

/// When a pool that keeps its objects makes them. lazy: at the first acquire of each slot. eager:
/// all with the pool, and those of slots that `reserve` adds to it with them. Slots that an acquire
/// adds because it needs one get theirs at their first acquire.
enum class creation : std::uint8_t { lazy, eager };

/// Options of an `object_pool`. Use designated initialisers: `{.capacity = 4096, .name = "jobs"}`.
struct object_pool_options {
  /// Slots, exactly: that many objects can be out at once. 1 to 2^32 - 2. With `policy::grow` the
  /// slots to begin with, rounded up to whole segments; 0 to max_capacity.
  std::size_t capacity = 0;

  /// Copied; appears in errors.
  std::string_view name = "unnamed";

  /// Most free slots one thread's cache may grow to, 0 to 1022. When it goes to the shared lists a
  /// cache is cut to its share of half of the capacity; one that is not used keeps what it has
  /// until somebody needs that, which none keeps a slot from.
  std::size_t max_cached = 512;

  /// `policy::grow` only, and needed there: most slots, exactly. 1 to 2^32 - 2. Addresses are set
  /// aside for all of them, memory is not.
  std::size_t max_capacity = 0;

  /// `policy::grow` only: most bytes of slots; bounds the capacity as well, to whole segments. 0:
  /// no bound. Bookkeeping comes on top: at most 8 bytes and 1 bit a slot, a byte each with
  /// `policy::track_in_use` and `policy::keep_constructed`, and from the start 9 bytes for each
  /// segment that there can be.
  std::size_t max_bytes = 0;

  /// `creation::eager` is for `policy::keep_constructed` only.
  lido::creation creation = lido::creation::lazy;
};

}  // namespace lido
