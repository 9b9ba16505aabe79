/// @file
/// Public. The options of a `slot_map`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "lido/base/fail.hpp"
#include "lido/base/slot_index.hpp"

namespace lido::inline v0 {

/// Chooses when a slot map closes the holes of erased values, by moving values from the end there.
enum class compaction_mode : std::uint8_t {
  /// Closes holes in each erase, by one move. Holes stay during walks, which close theirs at the
  /// end. They also stay after an erase by T's constructor or destructor, or after a move that
  /// threw, until the next erase. With a shrink_threshold, an erase that makes the map sparse moves
  /// all values.
  immediate,
  deferred,  ///< when the next walk begins, unless inserts have filled them by then
  manual     ///< only in `compact()` and `shrink_to_fit()`; walks step over holes
};

/// No limit but that of indices: 2^32 - 2 values.
inline constexpr std::size_t unlimited = (std::numeric_limits<std::size_t>::max)();

/// Options of a `slot_map`. Use designated initialisers: `{.max_size = 200'000, .name = "sparks"}`.
struct slot_map_options {
  /// Most values at once, 1 or more.
  std::size_t max_size = unlimited;

  /// Number of values that the map always has memory for. With `reserve` equal to `max_size`, all
  /// memory is allocated at the start, for values and for the table. As long as no slot is used up,
  /// only `shrink_to_fit` and `sort` allocate then: another table, an order. So do `swap`,
  /// `emplace_at` and `emplace_or_evict` of a full map if a T has more than 1 KiB: they put one on
  /// the heap for a moment.
  std::size_t reserve = 0;

  /// Unused capacity above which the map shrinks by itself. `unlimited`: only `shrink_to_fit`
  /// does it, as in std::vector. A map whose number of values rises and falls then has its memory
  /// when needed; new pages from the system cost more than the inserts. Otherwise the map shrinks
  /// when it closes holes, if also less than a quarter of the capacity is used; half of what stays
  /// is free. Mode immediate does so at each erase. After a `clear` or erases at the end, which
  /// leave no holes, the next compaction does. It never happens if moving a T may throw.
  std::size_t shrink_threshold = unlimited;

  compaction_mode compaction = compaction_mode::deferred;

  /// Name of the map, copied; appears in errors.
  std::string_view name = "unnamed";
};

namespace detail {

/// Capacity of a map that grows from nothing. It stays, so that a map that alternates between no
/// value and one does not allocate each time.
inline constexpr std::size_t first_capacity = 16;

/// Returns the options without the name. Refuses wrong ones before any memory is allocated.
inline slot_map_options checked(slot_map_options options) {
  refuse_option_if(options.max_size == 0, options.name, {"max_size is 0"});
  const std::size_t most = std::min<std::size_t>(options.max_size, max_capacity);
  check_option(options.name, "reserve", options.reserve, 0, most);
  options.name = {};
  return options;
}

}  // namespace detail

}  // namespace lido::inline v0
