/// @file
/// Public. Options of a pool that are chosen at run time, since they cost nothing on a hit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lido/base/pool_stats.hpp"
#include "lido/base/slot_index.hpp"

namespace lido::inline v0 {

/// What an acquire does if every slot is in use.
enum class when_full : std::uint8_t {
  fail,  ///< the acquire fails
  wait,  ///< the acquire waits until a slot is free
  grow   ///< the acquire grows the pool, and fails only if the pool cannot grow
};

class shared_list;

namespace detail {

class memory_cursor;
class segment_memory;

/// Limit of caches that must not allocate memory. Even a new cache has room for this many slots, so
/// that the cache never grows.
inline constexpr std::size_t most_cached_when_fixed = 64;

struct allocator_options {
  slot_geometry geometry;      ///< address of slot 0, and the stride
  std::uint32_t capacity = 0;  ///< maximum number of slots in the pool
  lido::cache_kind caches = lido::cache_kind::revocable;
  std::uint32_t max_cached = 512;      ///< maximum number of slots in the cache of a thread
  bool may_wait = false;               ///< acquires wait in a full pool; affects only stats
  const shared_list* list = nullptr;   ///< shared list; null selects Lido's own
  segment_memory* segments = nullptr;  ///< growing memory; null if all slots exist from the start
  bool visits_free = false;            ///< `visit_free` will be called
  bool visits_used = false;            ///< `restart` will be called with a visitor
  std::string_view name = {};          ///< name of the pool, for traces
  memory_cursor* memory = nullptr;     ///< memory of the program; null: the system's
};

}  // namespace detail
}  // namespace lido::inline v0
