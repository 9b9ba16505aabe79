// Checks options before anything is created.
#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "lido/base/error.hpp"
#include "lido/base/fail.hpp"
#include "lido/resource/options.hpp"
#include "lido/resource/stats.hpp"

namespace lido::inline v0::detail {

namespace {

using std::to_string;
using std::chrono::nanoseconds;

/// Returns `time` in the largest unit, up to seconds, that is exact.
std::string text_of(nanoseconds time) {
  struct unit {
    nanos length;
    const char* name;
  };
  constexpr unit larger[] = {{1'000'000'000, " s"}, {1'000'000, " ms"}, {1'000, " us"}};
  for (const auto& [length, name] : larger) {
    if (time.count() % length == 0) {
      return to_string(time.count() / length) + name;
    }
  }
  return to_string(time.count()) + " ns";
}

void check_times(const resource_pool_options& options) {
  struct rule {
    std::string_view option;
    nanoseconds value;
    bool may_be_zero = true;
  };
  for (const auto& [option, value, may_be_zero] : {
           rule{"acquire_timeout", options.acquire_timeout, false},
           rule{"create_timeout", options.create_timeout, false},
           rule{"validate_timeout", options.validate_timeout, false},
           rule{"retry_first", options.retry_first, false},
           rule{"idle_timeout", options.idle_timeout},
           rule{"max_lifetime", options.max_lifetime},
           rule{"keepalive", options.keepalive},
           rule{"validate_if_idle_longer_than", options.validate_if_idle_longer_than},
           rule{"close_timeout", options.close_timeout},
           rule{"report_slow_after", options.report_slow_after},
           rule{"report_leak_after", options.report_leak_after},
       }) {
    refuse_option_if(
        value.count() < (may_be_zero ? 0 : 1), options.name,
        {option, " of ", text_of(value), may_be_zero ? " is negative" : " is not positive"});
  }
  refuse_option_if(options.retry_longest < options.retry_first, options.name,
                   {"retry_longest of ", text_of(options.retry_longest),
                    " is less than retry_first of ", text_of(options.retry_first)});
}

const resource_pool_options& checked(const resource_pool_options& options) {
  check_option(options.name, "max_size", options.max_size, 0, most_resources);
  refuse_option_if(options.min_idle > options.max_size, options.name,
                   {"min_idle ", to_string(options.min_idle), " is more than max_size ",
                    to_string(options.max_size)});
  check_option(options.name, "reserve", options.reserve, 0, most_resources - options.max_size);
  refuse_option_if(
      !(options.lifetime_jitter >= 0 && options.lifetime_jitter <= 1), options.name,
      {"lifetime_jitter ", to_string(options.lifetime_jitter), " is not between 0 and 1"});
  check_option(options.name, "max_creating", options.max_creating, 0, most_resources);
  check_times(options);
  return options;
}

nanos or_never(nanoseconds limit) {
  return limit == nanoseconds::zero() ? never : limit.count();
}

}  // namespace

pool_settings::pool_settings(const resource_pool_options& options)
    : resource_pool_options(checked(options)),
      pool_name(options.name),
      life{.max_lifetime = or_never(max_lifetime),
           .lifetime_jitter = lifetime_jitter,
           .idle_timeout = or_never(idle_timeout),
           .validate_after = validate_if_idle_longer_than.count(),
           .keepalive = or_never(keepalive),
           .max_uses = max_uses == 0 ? (std::numeric_limits<std::uint64_t>::max)() : max_uses,
           .time_uses = time_uses},
      slow_after(or_never(report_slow_after)),
      leak_after(or_never(report_leak_after)),
      period((std::min)({life.idle_timeout, life.max_lifetime, life.keepalive / 5,
                         or_never(validate_if_idle_longer_than), slow_after, leak_after})) {
  constexpr nanos shortest = 1'000'000;
  constexpr nanos longest = 1'000'000'000;
  period = std::clamp(period / 4, shortest, longest);
}

void pool_settings::report(pool_event event,
                           const std::shared_ptr<const std::string>& group) const noexcept {
  if (on_event) {
    event.pool = group != nullptr ? *group : pool_name;
    on_event(event);
  }
}

std::uint32_t pool_settings::creating_limit(std::size_t size) const noexcept {
  const std::size_t by_size = std::clamp<std::size_t>((size + 3) / 4, 1, 8);
  return static_cast<std::uint32_t>(max_creating != 0 ? max_creating : by_size);
}

pool_settings settings_of_keys(const keyed_resource_pool_options& options) {
  resource_pool_options each = options.each_key;
  check_option(each.name, "max_total", options.max_total, 1, most_resources);
  refuse_option_if(each.reserve != 0, each.name,
                   {"reserve ", to_string(each.reserve), " is not for pools with keys"});
  refuse_option_if(each.max_size == 0, each.name, {"each_key.max_size 0 is not at least 1"});
  refuse_option_if(
      options.prefer_same_key_for < nanoseconds::zero(), each.name,
      {"prefer_same_key_for of ", text_of(options.prefer_same_key_for), " is negative"});
  each.max_size = (std::min)(each.max_size, options.max_total);
  each.detect_hold_and_wait = false;  // no deadlock: a waiter may get the capacity of another key
  pool_settings settings(each);
  settings.max_total = static_cast<std::uint32_t>(options.max_total);
  settings.prefer_same_key_for = options.prefer_same_key_for.count();
  return settings;
}

}  // namespace lido::inline v0::detail
