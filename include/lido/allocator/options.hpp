/// @file
/// Public. What can be chosen about a pool at run time, since it costs nothing on a hit.
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
  slot_geometry geometry;      ///< address of slot 0, and the distance of slots
  std::uint32_t capacity = 0;  ///< most slots there can be
  lido::cache_kind caches = lido::cache_kind::revocable;
  std::uint32_t max_cached = 512;      ///< most slots that one thread keeps
  bool may_wait = false;               ///< for the statistics; threads of other pools can wait, too
  const shared_list* list = nullptr;   ///< null: Lido's own
  segment_memory* segments = nullptr;  ///< null: all slots are there from the start; else none is
  std::string_view name = {};          ///< for traces
};

}  // namespace detail
}  // namespace lido::inline v0
