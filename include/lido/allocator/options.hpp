/// @file
/// Public. What can be chosen about a pool at run time, since it costs nothing on a hit.
#pragma once

#include <cstdint>

#include "lido/base/slot_index.hpp"

namespace lido {

/// How threads keep free slots at hand. revocable: in caches that cost no read-modify-write. Where
/// the system lacks the heavy fence, they are locked. locked: in caches that cost a private one.
/// none: every operation goes to the shared lists.
enum class cache_kind : std::uint8_t { revocable, locked, none };

/// What an acquire does when every slot is in use: it fails, it waits for a release, or the pool
/// grows first.
enum class when_full : std::uint8_t { fail, wait, grow };

class shared_list;

namespace detail {

class segment_memory;

struct allocator_options {
  slot_geometry geometry;      ///< address of slot 0, and the distance of slots
  std::uint32_t capacity = 0;  ///< most slots there can be
  lido::cache_kind caches = lido::cache_kind::revocable;
  std::uint32_t max_cached = 512;      ///< most slots that one thread keeps
  bool may_wait = false;               ///< others can wait, too; their first wait costs more
  const shared_list* list = nullptr;   ///< null: Lido's own
  segment_memory* segments = nullptr;  ///< null: all slots are there from the start; else none is
};

}  // namespace detail
}  // namespace lido
