/// @file
/// Public. How a resource pool is set up at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lido/base/assert.hpp"
#include "lido/base/callback.hpp"
#include "lido/base/durations.hpp"

namespace lido::inline v0 {

/// Nanoseconds, made from any duration of std::chrono. A duration longer than nanoseconds can
/// count, such as `std::chrono::hours::max()`, becomes the longest that they can. Fractions of a
/// nanosecond are rounded up.
class time_limit : public std::chrono::nanoseconds {
  using nanoseconds = std::chrono::nanoseconds;

 public:
  constexpr time_limit() noexcept : nanoseconds(0) {}
  template <class Rep, class Period>
  // NOLINTNEXTLINE(google-explicit-constructor): options are written as durations
  explicit(false) constexpr time_limit(std::chrono::duration<Rep, Period> length) noexcept
      : nanoseconds(bounded(length)) {}
  template <class Number>
    requires std::is_arithmetic_v<Number>
  // NOLINTNEXTLINE(google-explicit-constructor): so that the error says what to write
  explicit(false) constexpr time_limit(Number /*length*/) {
    static_assert(!std::is_same_v<Number, Number>,
                  "lido: a time needs a unit: write 500ms instead of 500");
  }

 private:
  template <class Rep, class Period>
  static constexpr nanoseconds bounded(std::chrono::duration<Rep, Period> length) noexcept {
    using seconds = std::chrono::duration<double>;
    constexpr double longest = seconds((nanoseconds::max)()).count();
    const double count = seconds(length).count();
    // NaN becomes the minimum. What is near a limit is rounded to it.
    if (!(count > -longest && count < longest)) {
      return count > 0 ? (nanoseconds::max)() : (nanoseconds::min)();
    }
    return std::chrono::ceil<nanoseconds>(length);
  }
};

/// What creates resources, maintains idle ones and ends waits that time out.
enum class maintenance : std::uint8_t {
  background,   ///< threads that pools share; an acquire never runs `create` itself
  by_tick,      ///< calls of `tick()`; an acquire that may create runs `create` itself
  own_threads,  ///< like `background`, with threads of this pool alone
};

/// What happens to a resource whose lease an exception ends.
enum class after_exception : std::uint8_t {
  discard,   ///< destroys it
  reset,     ///< resets it, and destroys it if `reset` refuses
  validate,  ///< resets it, and validates it before its next use
};

/// Which failures of `create` fail waiters at once, if no resource is left that could come back.
/// They also fail acquires that begin before the next attempt is due.
enum class create_errors : std::uint8_t {
  retry,      ///< only a permanent_failure; after others the pool tries again
  fail_fast,  ///< all
};

/// The clock that measures ages. Timeouts of acquires are always real time.
class time_source {
 public:
  time_source() = default;
  time_source(const time_source&) = delete;
  time_source& operator=(const time_source&) = delete;
  virtual ~time_source() = default;

  /// Returns the time since any fixed moment in the past: never negative, never decreasing. Called
  /// from any thread. A pool's time stands still while this is below 0, or below the latest that
  /// the pool has seen.
  [[nodiscard]] virtual std::chrono::nanoseconds now() const noexcept = 0;
};

struct pool_event;
class registry;

/// Any function that takes a `const pool_event&`, or none. Copies share it.
class event_listener {
 public:
  event_listener() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as a pointer
  explicit(false) event_listener(std::nullptr_t) noexcept {}
  /// Throws std::bad_alloc, and what copying `f` throws.
  template <class F>
    requires(!std::is_same_v<F, event_listener> && detail::takes<F, const pool_event&>)
  // NOLINTNEXTLINE(google-explicit-constructor): options are written as functions
  explicit(false) event_listener(F f) {
    if constexpr (detail::may_be_nothing<F>) {
      if (f == nullptr) {
        return;
      }
    }
    f_ = std::make_shared<F>(std::move(f));
    call_ = [](void* made, const pool_event& event) { (*static_cast<F*>(made))(event); };
  }

  [[nodiscard]] explicit operator bool() const noexcept { return call_ != nullptr; }
  [[nodiscard]] friend bool operator==(const event_listener& left, std::nullptr_t) noexcept {
    return left.call_ == nullptr;
  }
  /// Requires: there is a function. Unlike std::function it does not throw without one.
  [[LIDO_ASSERTS]] void operator()(const pool_event& event) const {
    LIDO_ASSERT(call_ != nullptr, "a call of an empty event_listener");
    call_(f_.get(), event);
  }

 private:
  std::shared_ptr<void> f_;
  void (*call_)(void* f, const pool_event& event) = nullptr;
};

/// Options of a `resource_pool`. Use designated initialisers: `{.max_size = 8, .name = "db"}`.
/// Where a time of zero is allowed, it switches the limit off.
struct resource_pool_options {
  /// Maximum number of resources, including those being created or destroyed. 0 to 65535.
  std::size_t max_size = 10;

  /// The pool creates ahead until this many are idle, within max_size.
  std::size_t min_idle = 0;

  /// Resources beyond max_size that the pool creates for `acquire_urgent` alone: for health checks
  /// while others queue. They are destroyed when they come back. Not for keyed pools.
  std::size_t reserve = 0;

  /// Maximum number of waiters. One more acquire fails at once.
  std::size_t max_waiters = SIZE_MAX;

  /// Name of the pool, copied; appears in errors and events.
  std::string_view name = "unnamed";

  /// Registry that lists the pool by name; null for none. A keyed pool is registered once, with
  /// totals over all keys.
  lido::registry* registry = nullptr;

  /// Default timeout of `acquire`. More than zero.
  time_limit acquire_timeout = std::chrono::seconds(30);

  /// Timeout of each call of `create`. More than zero.
  time_limit create_timeout = std::chrono::seconds(10);

  /// Timeout of each call of `validate`. More than zero.
  time_limit validate_timeout = std::chrono::seconds(5);

  /// A resource that is idle for longer is destroyed, unless it is one of min_idle. Zero: never.
  time_limit idle_timeout = std::chrono::minutes(10);

  /// A resource older than this is destroyed as soon as it is idle. Zero: never.
  time_limit max_lifetime = std::chrono::minutes(30);

  /// Largest part of max_lifetime, 0 to 1, by which it is shortened at random for each resource, so
  /// that resources created together do not expire together.
  double lifetime_jitter = 0.25;

  /// Maximum number of uses of one resource. Zero: no limit.
  std::uint64_t max_uses = 0;

  /// Idle resources are validated after 0.8 to 1.2 times this, at most four at once, beside those
  /// that do not answer. Zero: never.
  time_limit keepalive = std::chrono::minutes(2);

  /// A resource idle for longer is validated before it is lent. Zero: each time.
  time_limit validate_if_idle_longer_than = std::chrono::milliseconds(500);

  /// Maximum number of concurrent calls of `create`. Zero: a quarter of max_size, from 1 to 8.
  std::size_t max_creating = 0;

  /// Limit of the pause after a failed create, doubled by each further failure. The pause is drawn
  /// at random from 0 to the limit (full jitter), so that pools do not retry together. It delays
  /// creates that no acquire waits for. While one waits, one create at a time is tried, at least
  /// ten and at most twenty times a second, or as often as a shorter retry_first allows. A create
  /// that hangs delays the next one by a tenth of a second, until max_creating hang.
  time_limit retry_first = std::chrono::milliseconds(200);
  time_limit retry_longest = std::chrono::seconds(5);

  create_errors on_create_error = create_errors::retry;

  /// How long the destructor waits for leases; the rest then outlive the pool.
  time_limit close_timeout = std::chrono::seconds(10);

  /// A lease held for longer is reported once as slow, or as a suspected leak, and again when it
  /// comes back. Zero: never.
  time_limit report_slow_after = time_limit();
  time_limit report_leak_after = time_limit();

  /// Reads the steady clock twice in each use, for `times().uses`.
  bool time_uses = false;

  /// Called with events, without locks, from any thread, also after the end of the pool for leases
  /// that outlive it: captures must live that long. Must not throw.
  event_listener on_event = {};

  /// What happens to a resource whose lease an exception ends. It is discarded in any case if the
  /// factory lacks the function, or if `discard_unless_kept` was called on the lease.
  lido::after_exception after_exception = lido::after_exception::discard;

  /// Makes an acquire fail at once when all resources are held by threads that wait themselves. A
  /// lease that was moved off the stack of its thread counts as held by no thread. One that another
  /// thread ends without moving it counts as held by the thread that acquired it.
  bool detect_hold_and_wait = true;

  lido::maintenance maintenance = lido::maintenance::background;

  /// Must outlive the pool and its leases. Null: std::chrono::steady_clock.
  const time_source* clock = nullptr;
};

/// Options of a `keyed_resource_pool`. Use designated initialisers:
/// `{.max_total = 100, .each_key = {.max_size = 8, .name = "backends"}}`.
struct keyed_resource_pool_options {
  /// Maximum number of resources over all keys. 1 to 65535.
  std::size_t max_total = 64;

  /// A resource that comes back goes to a waiter for the same key. A waiter for another key that
  /// has waited for longer than that one, and than this, goes first. Zero: FIFO over all keys.
  time_limit prefer_same_key_for = std::chrono::milliseconds(10);

  /// Options of each key; `max_size` is the limit of one key, at least 1. Errors and events name
  /// the key behind `name`, as in `backends[db1:5432]`, if it is text, a number, or has a function
  /// `to_string(key)` that argument-dependent lookup finds. Wrap keys that contain secrets.
  /// `detect_hold_and_wait` is ignored: a resource may come from another key.
  resource_pool_options each_key = {.max_size = 8};
};

namespace detail {

/// A moment or a duration, in nanoseconds of the pool's clock.
using nanos = std::int64_t;

inline constexpr nanos never = (std::numeric_limits<nanos>::max)();

/// Limits on the life of resources; `never` switches one off.
struct life_limits {
  nanos max_lifetime = never;
  double lifetime_jitter = 0;  ///< largest part of max_lifetime, 0 to 1, taken off at birth
  nanos idle_timeout = never;
  nanos validate_after = never;  ///< idle time after which a use validates first
  nanos keepalive = never;       ///< idle time after which maintenance validates
  std::uint64_t max_uses = (std::numeric_limits<std::uint64_t>::max)();
  bool time_uses = false;
};

/// Returns `moment` plus `by`, or `never` if that overflows. Requires: both >= 0.
[[nodiscard, LIDO_ASSERTS]] constexpr nanos later(nanos moment, nanos by) noexcept {
  LIDO_ASSERT(moment >= 0 && by >= 0, "a moment before the clock's first, or a negative time");
  return by >= never - moment ? never : moment + by;
}

/// Returns the time from `moment` until `now`; 0 if `moment` is still to come.
[[nodiscard]] constexpr nanos passed_since(nanos moment, nanos now) noexcept {
  return now > moment ? now - moment : 0;
}

/// Returns the time of std::chrono::steady_clock.
[[nodiscard]] inline nanos steady_now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Returns when a resource born at `now` expires. `draw` is from [0, 1): 0 keeps the whole
/// lifetime.
[[nodiscard]] constexpr nanos end_of_life(nanos now, const life_limits& limits,
                                          double draw) noexcept {
  if (limits.max_lifetime == never) {
    return never;
  }
  // In 64 bits: 32 bits of nanoseconds would limit the jitter to four seconds.
  const auto less =
      static_cast<nanos>(static_cast<double>(limits.max_lifetime) * limits.lifetime_jitter * draw);
  return later(now, limits.max_lifetime - less);
}

inline constexpr std::size_t most_resources = 65535;

/// Checked options, and what the pool derives from them.
struct pool_settings : resource_pool_options {
  /// Throws std::invalid_argument that names the pool, the option and its value.
  explicit pool_settings(const resource_pool_options& options);

  /// Returns the limit of concurrent creates in a pool of that size: `max_creating`, or one for
  /// each four resources, from 1 to 8.
  [[nodiscard]] std::uint32_t creating_limit(std::size_t size) const noexcept;

  [[nodiscard]] bool has_threads() const noexcept {
    return maintenance != lido::maintenance::by_tick;
  }
  /// Calls `on_event`, if there is one. `group`: the pool's name with the key; null without keys.
  void report(pool_event event, const std::shared_ptr<const std::string>& group) const noexcept;

  std::string pool_name;  ///< a copy: the name in the options is memory of the caller
  life_limits life;
  nanos slow_after;
  nanos leak_after;
  nanos period;  ///< between ticks: a quarter of the smallest limit, a twentieth of keepalive
  std::uint32_t max_total = 0;  ///< limit over all keys, in a keyed pool
  nanos prefer_same_key_for = 0;
};

/// Checks the options of a keyed pool. Throws std::invalid_argument that names the pool and the
/// option.
[[nodiscard]] pool_settings settings_of_keys(const keyed_resource_pool_options& options);

}  // namespace detail
}  // namespace lido::inline v0
