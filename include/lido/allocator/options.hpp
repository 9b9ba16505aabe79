/// @file
/// Public. Options of a pool that are chosen at run time, since they cost nothing on a hit.
#pragma once

#include <cstdint>
#include <string_view>

#include "lido/base/pool_stats.hpp"
#include "lido/base/slot_index.hpp"

namespace lido::inline v0 {

/// What an acquire does when every slot is in use: it fails, waits, or makes the pool grow first.
enum class when_full : std::uint8_t { fail, wait, grow };

class shared_list;

namespace detail {

class segment_memory;

struct allocator_options {
  slot_geometry geometry;      ///< address of slot 0, and the stride
  std::uint32_t capacity = 0;  ///< most slots that the pool may have
  lido::cache_kind caches = lido::cache_kind::revocable;
  std::uint32_t max_cached = 512;      ///< most slots in the cache of one thread
  bool may_wait = false;               ///< for statistics alone; `acquire_for` waits in any pool
  const shared_list* list = nullptr;   ///< null for Lido's own
  segment_memory* segments = nullptr;  ///< null if all slots exist from the start; else none does
  std::string_view name = {};          ///< for traces
};

}  // namespace detail
}  // namespace lido::inline v0
