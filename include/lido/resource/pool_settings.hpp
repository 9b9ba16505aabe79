/// @file
/// Internal. Options, checked and in the units of the pool.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lido/concurrency/parking.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/resource/limits.hpp"
#include "lido/resource/options.hpp"

namespace lido {

struct keyed_resource_pool_options;

namespace detail {

inline constexpr std::size_t most_resources = 65535;

struct pool_settings {
  /// Throws std::invalid_argument that names the pool, the option and its value.
  explicit pool_settings(const resource_pool_options& options);

  /// Creates at once in a pool of that size: `max_creating`, or one for each four resources, from 1
  /// to 8.
  [[nodiscard]] std::uint32_t creating_limit(std::uint32_t size) const noexcept;

  std::string name;
  std::uint32_t max_size;
  std::uint32_t min_idle;
  std::uint32_t reserve;
  std::uint32_t max_creating;  ///< 0: by max_size
  std::size_t max_waiters;
  std::chrono::nanoseconds acquire_timeout;
  std::chrono::nanoseconds create_timeout;
  std::chrono::nanoseconds validate_timeout;
  std::chrono::nanoseconds close_timeout;
  life_limits life;
  nanos retry_first;
  nanos retry_longest;
  nanos slow_after;
  nanos leak_after;
  nanos period;  ///< of maintenance: a quarter of the smallest limit
  create_errors on_create_error;
  bool detect_hold_and_wait;
  lido::maintenance maintenance;
  std::function<void(const pool_event&)> on_event;
  const time_source* clock;
  bool is_barging;
  lido::reset_by reset_by;
  std::uint32_t max_total = 0;  ///< of a pool with keys
  nanos prefer_same_key_for = 0;
};

/// Throws std::invalid_argument that names the pool and the option.
[[nodiscard]] pool_settings settings_of_keys(const keyed_resource_pool_options& options);

}  // namespace detail
}  // namespace lido
