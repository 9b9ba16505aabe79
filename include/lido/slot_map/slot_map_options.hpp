/// @file
/// Public. How a slot map is set up at run time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "lido/base/fail.hpp"
#include "lido/base/slot_index.hpp"

namespace lido {

/// When a slot map closes the holes that erased values leave, by moving values from the end there.
enum class compaction_mode : std::uint8_t {
  /// In each erase, by one move. There are holes only during walks, which close theirs at their
  /// end, and after a move that threw. An erase that makes the map sparse moves all values (see
  /// shrink_threshold).
  immediate,
  deferred,  ///< when the next walk begins, as far as values inserted meanwhile left any open
  manual     ///< in `compact()` and `shrink_to_fit()` only; walks step over holes
};

/// No limit, as far as indices reach: 2^32 - 2 values.
inline constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

/// Options of a `slot_map`. Use designated initialisers: `{.max_size = 200'000, .name = "sparks"}`.
struct slot_map_options {
  /// Most values at once, 1 or more.
  std::size_t max_size = unlimited;

  /// Room from the start, and always: the map never gives this much back. With `reserve` equal to
  /// `max_size`, all memory is allocated at the start, places and table apart. As long as no slot
  /// is used up, only `shrink_to_fit` allocates then: another table.
  std::size_t reserve = 0;

  /// The map gives memory back when it closes holes, which mode immediate does at each erase. More
  /// than this many places must be free then and fewer than a quarter used; half of what stays is
  /// free. After a `clear` or erases at the end, which leave no holes, the next compaction does it.
  /// Where moving a T may throw, only `shrink_to_fit` does. `unlimited`: never by itself.
  std::size_t shrink_threshold = 1024;

  compaction_mode compaction = compaction_mode::deferred;

  /// Copied; appears in errors.
  std::string_view name = "unnamed";
};

namespace detail {

inline constexpr std::uint32_t first_capacity = 16;  ///< of a map that grows
/// Fewer free places are not given back by themselves. So the first ones stay, for a map that
/// alternates between no value and one.
inline constexpr std::size_t fewest_spare = first_capacity;

/// For a map whose places are all taken. Throws pool_exhausted if it must not grow.
[[nodiscard]] inline std::uint32_t grown_capacity(std::size_t capacity, std::size_t max_size,
                                                  const std::string& name) {
  const std::size_t most = std::min<std::size_t>(max_size, max_capacity);
  if (capacity >= most) {
    // NOLINTNEXTLINE(readability-suspicious-call-argument): a full map has as many values as places
    throw_pool_exhausted(name, most, capacity);
  }
  return static_cast<std::uint32_t>(
      std::min(std::max<std::size_t>(capacity * 2, first_capacity), most));
}

/// Refuses wrong options before any memory is allocated.
inline const slot_map_options& checked(const slot_map_options& options) {
  if (options.max_size == 0) {
    throw_invalid_option(options.name, "max_size is 0");
  }
  const std::size_t most = std::min<std::size_t>(options.max_size, max_capacity);
  if (options.reserve > most) {
    throw_invalid_option(options.name, "reserve " + std::to_string(options.reserve) +
                                           " is more than the " + std::to_string(most) +
                                           " values that there can be");
  }
  return options;
}

}  // namespace detail
}  // namespace lido
