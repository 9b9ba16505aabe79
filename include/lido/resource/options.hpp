/// @file
/// Public. The run-time options of resource pools.
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
#include "lido/base/nanos.hpp"

namespace lido::inline v0 {

/// A time in nanoseconds, made from any duration of std::chrono. A duration that is too long to
/// count in nanoseconds, such as `std::chrono::hours::max()`, becomes the longest one that can be
/// counted. Fractions of a nanosecond are rounded up.
class time_limit : public std::chrono::nanoseconds {
  using nanoseconds = std::chrono::nanoseconds;

 public:
  /// Makes a limit of zero.
  constexpr time_limit() noexcept : nanoseconds(0) {}
  /// Makes a limit from any duration of std::chrono.
  template <class Rep, class Period>
  // NOLINTNEXTLINE(google-explicit-constructor): options are written as durations
  explicit(false) constexpr time_limit(std::chrono::duration<Rep, Period> length) noexcept
      : nanoseconds(bounded(length)) {}
  /// Rejects a number without a unit, with a message that says what to write.
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
    // NaN becomes the minimum. A duration near a limit is rounded to that limit.
    if (!(count > -longest && count < longest)) {
      return count > 0 ? (nanoseconds::max)() : (nanoseconds::min)();
    }
    return std::chrono::ceil<nanoseconds>(length);
  }
};

/// What creates resources, maintains idle ones and ends waits that time out.
enum class maintenance : std::uint8_t {
  background,   ///< threads that pools share; an acquire never runs `create` itself
  by_tick,      ///< calls of `tick()`; an acquire that begins a create runs `create` itself
  own_threads,  ///< like `background`, but with threads that serve only this pool
};

/// What happens to a resource whose lease ends because of an exception.
enum class after_exception : std::uint8_t {
  discard,   ///< the resource is destroyed
  reset,     ///< the resource is reset, and destroyed if `reset` refuses
  validate,  ///< the resource is reset, and validated before its next use
};

/// Which failures of `create` make waiters fail at once if no resource is left that could come
/// back. Acquires that begin before the next attempt is due also fail.
enum class create_errors : std::uint8_t {
  retry,      ///< only a permanent_failure; after any other failure the pool tries again
  fail_fast,  ///< all failures
};

/// The clock that measures the ages of resources. Timeouts of acquires are always in real time.
class time_source {
 public:
  time_source() = default;
  time_source(const time_source&) = delete;
  time_source& operator=(const time_source&) = delete;
  virtual ~time_source() = default;

  /// Returns the time since some fixed moment in the past. Any thread may call this function. The
  /// result must never be negative, and must never decrease. While it is below 0, or below an
  /// earlier result, the pool's time stands still.
  [[nodiscard]] virtual std::chrono::nanoseconds now() const noexcept = 0;
};

struct pool_event;
class registry;

/// Holds a function of any type that takes a `const pool_event&`, or holds no function. Copies of a
/// listener share its function.
class event_listener {
 public:
  event_listener() noexcept = default;
  /// Holds no function.
  // NOLINTNEXTLINE(google-explicit-constructor): like a pointer
  explicit(false) event_listener(std::nullptr_t) noexcept {}
  /// Holds a copy of `f`. Throws std::bad_alloc, or whatever copying `f` throws.
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

  /// Returns true if there is a function.
  [[nodiscard]] explicit operator bool() const noexcept { return call_ != nullptr; }
  /// Returns true if there is no function.
  [[nodiscard]] friend bool operator==(const event_listener& left, std::nullptr_t) noexcept {
    return left.call_ == nullptr;
  }
  /// Calls the function. Requires: the listener holds a function. Unlike an empty std::function, an
  /// empty listener does not throw when it is called.
  [[LIDO_ASSERTS]] void operator()(const pool_event& event) const {
    LIDO_ASSERT(call_ != nullptr, "a call of an empty event_listener");
    call_(f_.get(), event);
  }

 private:
  std::shared_ptr<void> f_;
  void (*call_)(void* f, const pool_event& event) = nullptr;
};

/// Options of a `resource_pool`. Use designated initialisers: `{.max_size = 8, .name = "db"}`.
/// Where a time of zero is allowed, zero switches the limit off.
struct resource_pool_options {
  /// Maximum number of resources, including those being created or destroyed. From 0 to 65535.
  std::size_t max_size = 10;

  /// Number of resources to keep idle. The pool creates resources in advance until min_idle of them
  /// are idle, but never more than max_size in all.
  std::size_t min_idle = 0;

  /// Number of resources beyond max_size that the pool creates only for `acquire_urgent`. These
  /// resources are meant for health checks while other acquires wait. They are destroyed when they
  /// come back. Not available in keyed pools.
  std::size_t reserve = 0;

  /// Maximum number of waiters. Any further acquire that would have to wait fails at once.
  std::size_t max_waiters = SIZE_MAX;

  /// Name of the pool, which appears in errors and events. The pool copies it.
  std::string_view name = "unnamed";

  /// Registry that lists the pool by name; null for none. A keyed pool is registered once, with
  /// totals over all keys.
  lido::registry* registry = nullptr;

  /// Default timeout of `acquire`. Must be more than zero.
  time_limit acquire_timeout = std::chrono::seconds(30);

  /// Timeout of each call of `create`. Must be more than zero.
  time_limit create_timeout = std::chrono::seconds(10);

  /// Timeout of each call of `validate`. Must be more than zero.
  time_limit validate_timeout = std::chrono::seconds(5);

  /// A resource that has been idle for longer than this is destroyed, unless min_idle keeps it.
  /// Zero: never.
  time_limit idle_timeout = std::chrono::minutes(10);

  /// A resource older than this is destroyed as soon as it is idle. Zero: never.
  time_limit max_lifetime = std::chrono::minutes(30);

  /// Largest fraction of max_lifetime, from 0 to 1, by which the lifetime of each resource is
  /// shortened at random. So resources that were created together do not expire together.
  double lifetime_jitter = 0.25;

  /// Maximum number of uses of one resource. Zero: no limit.
  std::uint64_t max_uses = 0;

  /// Idle resources are validated after 0.8 to 1.2 times this duration. At most four such
  /// validations run at once, not counting those whose resource does not answer in time. Zero:
  /// never.
  time_limit keepalive = std::chrono::minutes(2);

  /// A resource that has been idle for longer than this is validated before its next use. Zero:
  /// before each use.
  time_limit validate_if_idle_longer_than = std::chrono::milliseconds(500);

  /// Maximum number of concurrent calls of `create`. Zero: a quarter of max_size, but at
  /// least 1 and at most 8.
  std::size_t max_creating = 0;

  /// Limit of the pause after a failed create. This limit is retry_first after the first failure.
  /// It doubles with each further failure, up to retry_longest. The pause is drawn at random from 0
  /// to the limit (full jitter), so that pools do not retry together. The pause delays only creates
  /// that no acquire waits for. While an acquire waits, the pool tries one create at a time. It
  /// tries ten to twenty times a second, or more often if retry_first is shorter than the time
  /// between these attempts. A create that hangs delays the next one by a tenth of a second, until
  /// max_creating creates hang.
  time_limit retry_first = std::chrono::milliseconds(200);
  /// Largest limit of the pause after failed creates; see retry_first.
  time_limit retry_longest = std::chrono::seconds(5);

  /// Chooses whether an acquire that waits fails if a create fails.
  create_errors on_create_error = create_errors::retry;

  /// How long the destructor waits for leases to end. Leases that have not ended by then outlive
  /// the pool.
  time_limit close_timeout = std::chrono::seconds(10);

  /// A lease that is held for longer than report_slow_after is reported once as slow. A lease that
  /// is held for longer than report_leak_after is reported once as a suspected leak. A lease that
  /// was reported is reported again when it ends. Zero: never.
  time_limit report_slow_after = time_limit();
  /// Time after which a lease is reported as a suspected leak; see report_slow_after.
  time_limit report_leak_after = time_limit();

  /// Measures each use for `times().uses`. Each use then reads the steady clock twice.
  bool time_uses = false;

  /// Called with each event, from any thread and without locks. Leases that outlive the pool also
  /// report events, so captures must live as long as these leases. Must not throw.
  event_listener on_event = {};

  /// What happens to a resource whose lease ends because of an exception. The resource is discarded
  /// in any case if the factory lacks the required function, or if `discard_unless_kept` was called
  /// on the lease.
  lido::after_exception after_exception = lido::after_exception::discard;

  /// Makes an acquire fail at once if all resources are held by threads that are themselves
  /// waiting. A lease that was moved off the stack of its thread counts as held by no thread. A
  /// lease that another thread ends without moving it counts as held by the thread that acquired
  /// it.
  bool detect_hold_and_wait = true;

  /// What creates resources, maintains idle ones and ends waits that time out.
  lido::maintenance maintenance = lido::maintenance::background;

  /// Clock of the pool. The clock must outlive the pool and its leases. Null:
  /// std::chrono::steady_clock.
  const time_source* clock = nullptr;
};

/// Options of a `keyed_resource_pool`. Use designated initialisers:
/// `{.max_total = 100, .each_key = {.max_size = 8, .name = "backends"}}`.
struct keyed_resource_pool_options {
  /// Maximum number of resources over all keys. From 1 to 65535.
  std::size_t max_total = 64;

  /// A resource that comes back usually serves a waiter for the same key. A waiter for another key
  /// is served first if it has waited for longer than that waiter, and for longer than this
  /// duration. Zero: FIFO over all keys.
  time_limit prefer_same_key_for = std::chrono::milliseconds(10);

  /// Options of each key. `max_size` is the limit of one key, and must be at least 1. If the key is
  /// text or a number, or if argument-dependent lookup finds a function `to_string(key)`, errors
  /// and events show the key after `name`, as in `backends[db1:5432]`. If keys contain secrets,
  /// wrap them in a type that has no text, so that they are not shown. `detect_hold_and_wait` is
  /// ignored, since a resource may come from another key.
  resource_pool_options each_key = {.max_size = 8};
};

namespace detail {

/// Limits on the life of resources. The value `never` switches a limit off.
struct life_limits {
  nanos max_lifetime = never;
  double lifetime_jitter = 0;  ///< largest fraction of max_lifetime, 0 to 1, that jitter removes
  nanos idle_timeout = never;
  nanos validate_after = never;  ///< idle time after which a resource is validated before a use
  nanos keepalive = never;       ///< idle time after which maintenance validates a resource
  std::uint64_t max_uses = (std::numeric_limits<std::uint64_t>::max)();
  bool time_uses = false;
};

/// Returns the time from `moment` until `now`; 0 if `moment` is still to come.
[[nodiscard]] constexpr nanos passed_since(nanos moment, nanos now) noexcept {
  return now > moment ? now - moment : 0;
}

/// Returns when a resource born at `now` expires. `draw` is from [0, 1); a `draw` of 0 keeps the
/// whole lifetime.
[[nodiscard]] constexpr nanos end_of_life(nanos now, const life_limits& limits,
                                          double draw) noexcept {
  if (limits.max_lifetime == never) {
    return never;
  }
  // Computed in 64 bits: 32 bits of nanoseconds would limit the jitter to four seconds.
  const auto less =
      static_cast<nanos>(static_cast<double>(limits.max_lifetime) * limits.lifetime_jitter * draw);
  return later(now, limits.max_lifetime - less);
}

inline constexpr std::size_t most_resources = 65535;

/// The checked options of a pool, and values derived from them.
struct pool_settings : resource_pool_options {
  /// Checks the options. Throws a std::invalid_argument that names the pool, the option and its
  /// value.
  explicit pool_settings(const resource_pool_options& options);

  /// Returns the limit on concurrent creates in a pool of `size` resources. The limit is
  /// `max_creating`. If that is 0, the limit is a quarter of `size`, but at least 1 and at most 8.
  [[nodiscard]] std::uint32_t creating_limit(std::size_t size) const noexcept;

  [[nodiscard]] bool has_threads() const noexcept {
    return maintenance != lido::maintenance::by_tick;
  }
  /// Calls `on_event`, if there is one. `group` is the pool's name with the key, or null in a pool
  /// without keys.
  void report(pool_event event, const std::shared_ptr<const std::string>& group) const noexcept;

  std::string pool_name;  ///< a copy, since the caller owns the name in the options
  life_limits life;
  nanos slow_after;
  nanos leak_after;
  nanos period;  ///< time between ticks: a quarter of the least limit, or a twentieth of keepalive
  std::uint32_t max_total = 0;  ///< limit over all keys in a keyed pool; otherwise 0
  nanos prefer_same_key_for = 0;
};

/// Checks the options of a keyed pool. Throws a std::invalid_argument that names the pool and the
/// option.
[[nodiscard]] pool_settings settings_of_keys(const keyed_resource_pool_options& options);

}  // namespace detail
}  // namespace lido::inline v0
