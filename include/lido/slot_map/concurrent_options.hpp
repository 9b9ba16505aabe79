/// @file
/// Public. The options of a `concurrent_slot_map`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lido/allocator/slot_allocator.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/debug/registry.hpp"

namespace lido::inline v0 {

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
};

namespace detail {

/// Returns max_size. Throws std::invalid_argument if an option is out of range. Called before any
/// memory is requested.
inline std::uint32_t checked_size(const concurrent_slot_map_options& options) {
  check_option(options.name, "max_size", options.max_size, 1, max_capacity);
  check_option(options.name, "max_cached", options.max_cached, 0, slot_cache::most_items);
  return static_cast<std::uint32_t>(options.max_size);
}

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
