#include "lido/resource/pool_settings.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

#include "lido/base/error.hpp"
#include "lido/resource/keyed_options.hpp"

namespace lido::detail {

namespace {

using std::chrono::nanoseconds;

void require_positive(const resource_pool_options& options, std::string_view option,
                      nanoseconds value) {
  if (value <= nanoseconds::zero()) {
    throw_invalid_option(options.name, std::string(option) + " of " +
                                           std::to_string(value.count()) + " ns is not positive");
  }
}

void require_not_negative(const resource_pool_options& options, std::string_view option,
                          nanoseconds value) {
  if (value < nanoseconds::zero()) {
    throw_invalid_option(options.name, std::string(option) + " of " +
                                           std::to_string(value.count()) + " ns is negative");
  }
}

void check_times(const resource_pool_options& options) {
  require_positive(options, "acquire_timeout", options.acquire_timeout);
  require_positive(options, "create_timeout", options.create_timeout);
  require_positive(options, "validate_timeout", options.validate_timeout);
  require_positive(options, "retry_first", options.retry_first);
  require_not_negative(options, "idle_timeout", options.idle_timeout);
  require_not_negative(options, "max_lifetime", options.max_lifetime);
  require_not_negative(options, "keepalive", options.keepalive);
  require_not_negative(options, "validate_if_idle_longer_than",
                       options.validate_if_idle_longer_than);
  require_not_negative(options, "close_timeout", options.close_timeout);
  require_not_negative(options, "report_slow_after", options.report_slow_after);
  require_not_negative(options, "report_leak_after", options.report_leak_after);
  if (options.retry_longest < options.retry_first) {
    throw_invalid_option(options.name, "retry_longest is less than retry_first");
  }
}

/// Before anything is made.
const resource_pool_options& checked(const resource_pool_options& options) {
  if (options.max_size > most_resources) {
    throw_invalid_option(options.name, "max_size " + std::to_string(options.max_size) +
                                           " is more than " + std::to_string(most_resources));
  }
  if (options.min_idle > options.max_size) {
    throw_invalid_option(options.name, "min_idle " + std::to_string(options.min_idle) +
                                           " is more than max_size " +
                                           std::to_string(options.max_size));
  }
  if (options.reserve > most_resources - options.max_size) {
    throw_invalid_option(options.name, "reserve " + std::to_string(options.reserve) +
                                           " with max_size is more than " +
                                           std::to_string(most_resources));
  }
  if (!(options.lifetime_jitter >= 0 && options.lifetime_jitter <= 1)) {
    throw_invalid_option(
        options.name,
        "lifetime_jitter " + std::to_string(options.lifetime_jitter) + " is not between 0 and 1");
  }
  if (options.max_creating > most_resources) {
    throw_invalid_option(options.name, "max_creating " + std::to_string(options.max_creating) +
                                           " is more than " + std::to_string(most_resources));
  }
  check_times(options);
  return options;
}

nanos or_never(nanoseconds limit) {
  return limit == nanoseconds::zero() ? never : limit.count();
}

life_limits life_of(const resource_pool_options& options) {
  return {.max_lifetime = or_never(options.max_lifetime),
          .lifetime_jitter = options.lifetime_jitter,
          .idle_timeout = or_never(options.idle_timeout),
          .validate_after = options.validate_if_idle_longer_than.count(),
          .keepalive = or_never(options.keepalive),
          .max_uses =
              options.max_uses == 0 ? std::numeric_limits<std::uint64_t>::max() : options.max_uses};
}

nanos period_of(const resource_pool_options& options) {
  constexpr nanos shortest = 1'000'000;
  constexpr nanos longest = 1'000'000'000;
  nanos smallest = never;
  for (const nanoseconds limit : {options.idle_timeout, options.max_lifetime, options.keepalive,
                                  options.validate_if_idle_longer_than, options.report_slow_after,
                                  options.report_leak_after}) {
    smallest = std::min(smallest, or_never(limit));
  }
  return std::clamp(smallest / 4, shortest, longest);
}

}  // namespace

pool_settings::pool_settings(const resource_pool_options& options)
    : name(checked(options).name),
      max_size(static_cast<std::uint32_t>(options.max_size)),
      min_idle(static_cast<std::uint32_t>(options.min_idle)),
      reserve(static_cast<std::uint32_t>(options.reserve)),
      max_creating(static_cast<std::uint32_t>(options.max_creating)),
      max_waiters(options.max_waiters),
      acquire_timeout(options.acquire_timeout),
      create_timeout(options.create_timeout),
      validate_timeout(options.validate_timeout),
      close_timeout(options.close_timeout),
      life(life_of(options)),
      retry_first(options.retry_first.count()),
      retry_longest(options.retry_longest.count()),
      slow_after(or_never(options.report_slow_after)),
      leak_after(or_never(options.report_leak_after)),
      period(period_of(options)),
      on_create_error(options.on_create_error),
      detect_hold_and_wait(options.detect_hold_and_wait),
      maintenance(options.maintenance),
      on_event(options.on_event),
      clock(options.clock),
      is_barging(options.queueing == queueing::barging),
      reset_by(options.reset_by) {}

std::uint32_t pool_settings::creating_limit(std::uint32_t size) const noexcept {
  return max_creating != 0 ? max_creating : std::clamp((size + 3) / 4, 1U, 8U);
}

pool_settings settings_of_keys(const keyed_resource_pool_options& options) {
  resource_pool_options each = options.each_key;
  const auto refuse = [&each](const char* what) { throw_invalid_option(each.name, what); };
  if (options.max_total == 0 || options.max_total > most_resources) {
    refuse("max_total is not between 1 and 65535");
  }
  if (each.reserve != 0) {
    refuse("reserve is not for pools with keys");
  }
  if (each.max_size == 0) {
    refuse("a key needs a max_size of at least 1");
  }
  if (options.prefer_same_key_for < nanoseconds::zero()) {
    refuse("prefer_same_key_for is negative");
  }
  each.max_size = std::min(each.max_size, options.max_total);
  each.detect_hold_and_wait = false;  // a resource may come from another key
  pool_settings settings(each);
  settings.max_total = static_cast<std::uint32_t>(options.max_total);
  settings.prefer_same_key_for = options.prefer_same_key_for.count();
  return settings;
}

}  // namespace lido::detail
