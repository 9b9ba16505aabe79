/// @file
/// Public. The options of a `slot_map`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "lido/base/memory_source.hpp"
#include "lido/base/option_problem.hpp"
#include "lido/base/slot_index.hpp"

namespace lido::inline v0 {

/// Chooses when a slot map closes the holes that erased values leave. It closes a hole by moving
/// the last value into it.
enum class compaction_mode : std::uint8_t {
  /// Each erase closes its hole, by one move. During a walk holes stay open, and the walk closes
  /// them at its end. A hole also stays open, until the next erase, if T's constructor or
  /// destructor called erase, or if the closing move threw. With a shrink_threshold, an erase that
  /// makes the map sparse moves all values.
  immediate,
  deferred,  ///< the next walk first closes the holes that inserts have not filled
  manual     ///< only `compact()` and `shrink_to_fit()` close holes; walks skip them
};

/// Stands for no limit. The number of indices still limits a map to 2^32 - 2 values.
inline constexpr std::size_t unlimited = (std::numeric_limits<std::size_t>::max)();

/// Options of a `slot_map`. Use designated initialisers: `{.max_size = 200'000, .name = "sparks"}`.
struct slot_map_options {
  /// Largest number of values and reserved handles at a time; at least 1.
  std::size_t max_size = unlimited;

  /// Number of values that the map always has memory for. If `reserve` equals `max_size`, the
  /// constructor allocates all memory, both for values and for the table. After that, as long as no
  /// slot is used up, few functions allocate. `shrink_to_fit` allocates a new table, `sort` a sort
  /// order, and `emplace_at` 4 bytes for each slot of the table. `reserve_handle` may enlarge the
  /// table if there are holes. If a T is larger than 1 KiB,
  /// `swap`, `emplace_at` and (if the map is full) `emplace_or_evict` allocate, too, because each
  /// of them briefly puts one T on the heap.
  std::size_t reserve = 0;

  /// Unused capacity above which the map shrinks by itself. With `unlimited`, only `shrink_to_fit`
  /// shrinks the map, as in std::vector. A map whose number of values rises and falls then keeps
  /// its memory. That is worthwhile, since new pages from the system would cost more than the
  /// inserts.
  ///
  /// With any other threshold, the map shrinks when it closes holes, if less than a quarter of its
  /// capacity is then in use. Half of the remaining capacity is free afterwards. In mode immediate,
  /// each erase may shrink the map. A `clear`, or an erase at the end, leaves no hole, so the map
  /// shrinks at the next compaction. A map whose T may throw when moved never shrinks by itself.
  std::size_t shrink_threshold = unlimited;

  /// Chooses when the map closes the holes that erased values leave.
  compaction_mode compaction = compaction_mode::deferred;

  /// Asks the system for huge pages for arrays of 2 MiB or more, which makes accesses in random
  /// order faster. Switch it off for large maps that stay nearly empty. With it, the first value in
  /// a page makes 2 MiB resident; without it, 4 KiB.
  bool huge_pages = true;

  /// Name of the map, for error messages. The map copies it.
  std::string_view name = "unnamed";

  /// Provides the memory for values and tables; null for memory of the system. If the source cannot
  /// reuse memory (`memory_source::can_grow` returns false), `reserve` must equal `max_size`, and
  /// `shrink_to_fit` is refused. The constructor then allocates everything, and
  /// `slot_map::bytes_needed` returns its size. A name of more than 15 characters still comes from
  /// the system, and so does the memory that `emplace_at` and a value of more than 1 KiB need (see
  /// `reserve`). The source must outlive the map and its copies.
  memory_source* memory = nullptr;
};

namespace detail {

/// Capacity that a map without memory grows to first. The map does not shrink an array of this
/// capacity. So a map that alternates between no values and one value does not allocate each time.
inline constexpr std::size_t first_capacity = 16;

/// Returns the first problem of `options`, apart from the size of the memory.
[[nodiscard]] inline option_problem find_problem_of(const slot_map_options& options) noexcept {
  if (options.max_size == 0) {
    return {option_problem::kind::option, {"max_size is 0"}};
  }
  const std::size_t most = std::min<std::size_t>(options.max_size, max_capacity);
  if (option_problem found = out_of_range("reserve", options.reserve, 0, most)) {
    return found;
  }
  if (options.memory != nullptr && !options.memory->can_grow() &&
      options.reserve != options.max_size) {
    return {option_problem::kind::option,
            {"reserve ", digits(options.reserve).view(), " must equal max_size ",
             digits(options.max_size).view(), ", because memory cannot grow"}};
  }
  return {};
}

}  // namespace detail

}  // namespace lido::inline v0
