/// @file
/// Public. How a concurrent slot map is set up at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lido/base/error.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/magazine/cache_control.hpp"

namespace lido {

/// Options of a `concurrent_slot_map`. Use designated initialisers.
struct concurrent_slot_map_options {
  /// Most values at once, exactly: 1 to 2^32 - 2. Addresses for all are set aside at the start; the
  /// system supplies the pages of values as they are used.
  std::size_t max_size = 0;

  /// Copied; appears in errors.
  std::string_view name = "unnamed";

  /// As `object_pool_options::max_cached`.
  std::size_t max_cached = 512;
};

namespace detail {

/// The max_size, before any memory is asked for.
inline std::uint32_t checked_size(const concurrent_slot_map_options& options) {
  if (options.max_size == 0 || options.max_size > max_capacity) {
    throw_invalid_option(options.name, "max_size " + std::to_string(options.max_size) +
                                           " is not between 1 and " + std::to_string(max_capacity));
  }
  if (options.max_cached > most_cached) {
    throw_invalid_option(options.name, "max_cached " + std::to_string(options.max_cached) +
                                           " is more than " + std::to_string(most_cached));
  }
  return static_cast<std::uint32_t>(options.max_size);
}

}  // namespace detail
}  // namespace lido
