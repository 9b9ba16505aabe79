/// @file
/// Public. The options of a `concurrent_slot_map`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lido/allocator/slot_allocator.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/debug/registry.hpp"

namespace lido::inline v0 {

class memory_source;

/// Options of a `concurrent_slot_map`. Use designated initialisers.
struct concurrent_slot_map_options {
  /// Largest number of values at a time: 1 to 2^32 - 2. The limit is exact. The constructor
  /// reserves addresses for all values. The system supplies each memory page when it is first used.
  std::size_t max_size = 0;

  /// Name of the map, for error messages. The map copies it.
  std::string_view name = "unnamed";

  /// Largest number of free slots in one thread's cache; see object_pool_options::max_cached.
  std::size_t max_cached = 512;

  /// Registry that lists the map by name; null for none.
  lido::registry* registry = nullptr;

  /// Provides the memory for values and tables; null for memory of the system. All of it is
  /// allocated in the constructor, `concurrent_slot_map::bytes_needed` returns its size, and the
  /// destructor gives it back. Only the table of thread caches comes from the system. Caches then
  /// hold at most 64 slots. The source must outlive the map.
  memory_source* memory = nullptr;
};

namespace detail {

/// The slots of a concurrent map. The allocator is the first member because lido.py expects it at
/// the address that the registry stores.
struct map_slots {
  slot_allocator allocator;
  std::size_t bytes_of_states;  ///< bytes of all slot states and walk blocks

  [[nodiscard]] slot_pool_stats stats() const noexcept {
    slot_pool_stats stats = allocator.stats();
    stats.bookkeeping_bytes += bytes_of_states;
    stats.total_bytes += bytes_of_states;
    return stats;
  }
};

}  // namespace detail

}  // namespace lido::inline v0
