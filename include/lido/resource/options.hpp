/// @file
/// Public. How a resource pool is set up at run time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "lido/resource/time_limit.hpp"

namespace lido {

/// Who does what has to be done from time to time: creating, looking after idle resources,
/// telling those whose time is up.
enum class maintenance : std::uint8_t {
  background,  ///< threads of the pool; an acquire never runs `create` itself
  by_callers,  ///< the threads that acquire, when it is due, in their own time
  by_tick,     ///< whoever calls `tick()`; ages are counted in ticks
};

/// Which failures of `create` those who wait are told about at once if no resource is left that
/// could come back; so is whoever comes before the next attempt is due.
enum class create_errors : std::uint8_t {
  retry,      ///< only a permanent_failure; after others it is tried again until they give up
  fail_fast,  ///< each
};

/// What ages are counted by. Time-outs of those who wait are always real time.
class time_source {
 public:
  time_source() = default;
  time_source(const time_source&) = delete;
  time_source& operator=(const time_source&) = delete;
  virtual ~time_source() = default;

  /// Since any fixed moment in the past: never negative, and never goes back. From any thread. A
  /// pool's time stands still while this is below 0, or below the latest that the pool has seen.
  [[nodiscard]] virtual std::chrono::nanoseconds now() const noexcept = 0;
};

struct pool_event;

/// Options of a `resource_pool`. Use designated initialisers: `{.max_size = 8, .name = "db"}`.
/// Where a time of zero is allowed, it switches the limit off.
struct resource_pool_options {
  /// Most resources at once, those being made and being destroyed included. 0 to 65535.
  std::size_t max_size = 10;

  /// Made ahead, so that so many are idle, within max_size.
  std::size_t min_idle = 0;

  /// Most threads and callbacks that wait at once. One more gets an error at once, unless there is
  /// an idle resource that the pool only has to validate for it, or is validating, or one is being
  /// made for those who wait, or can be begun.
  std::size_t max_waiters = SIZE_MAX;

  /// Copied; appears in errors and events.
  std::string_view name = "unnamed";

  /// Of an acquire that is given no time of its own. More than zero.
  time_limit acquire_timeout = std::chrono::seconds(30);

  /// What `create` is asked to keep to. More than zero.
  time_limit create_timeout = std::chrono::seconds(30);

  /// What `validate` is asked to keep to. Who has less time leaves it to the threads of the pool;
  /// where it has none (`upkeep`), `validate` gets the time that there is, and what has not
  /// answered by then is ended. More than zero.
  time_limit validate_timeout = std::chrono::seconds(5);

  /// An idle resource older than that goes, unless it is one of min_idle. Zero: never.
  time_limit idle_timeout = std::chrono::minutes(10);

  /// A resource older than that goes as soon as nobody uses it. Zero: never.
  time_limit max_lifetime = std::chrono::minutes(30);

  /// Part of max_lifetime, 0 to 1, up to which it is shortened, drawn once for each resource, so
  /// that resources made together do not go together.
  double lifetime_jitter = 0.25;

  /// Times a resource is lent, at most. Zero: without end.
  std::uint64_t max_uses = 0;

  /// Idle resources are validated so often. Zero: never.
  time_limit keepalive = std::chrono::minutes(2);

  /// A resource idle for longer is validated before it is lent. Zero: each time.
  time_limit validate_if_idle_longer_than = std::chrono::milliseconds(500);

  /// Most calls of `create` at once. Zero: one for each four of max_size. With
  /// maintenance::background each has a thread, started when it is needed, that stays until the
  /// pool ends; and so have as many calls of `validate` at once, and one more; and callbacks that
  /// get what such a thread has made or validated, calls of `destroy` for what it found invalid,
  /// and of `on_event` for a create that failed: as many as are under way at once.
  std::size_t max_creating = 0;

  /// After a failed create the next one waits so long, twice as long after each further one. Those
  /// that have begun beside it go on, with maintenance::background also those about to begin.
  time_limit retry_first = std::chrono::milliseconds(200);
  time_limit retry_longest = std::chrono::seconds(5);

  create_errors on_create_error = create_errors::retry;

  /// The destructor waits so long for leases before it leaves them to themselves.
  time_limit close_timeout = std::chrono::seconds(10);

  /// A lease held for longer is reported once as slow, or as a suspected leak, and once more when
  /// it comes back after all, by who gives it back, or the next tick, or the end of the pool. Zero:
  /// never.
  time_limit report_slow_after = std::chrono::nanoseconds(0);
  time_limit report_leak_after = std::chrono::nanoseconds(0);

  /// Told what happens. Called without locks, from any thread, also while the pool ends and, for
  /// leases and creates that outlast it, later: so long must live what it refers to. Must not
  /// throw: that would end the program, since a release may be what calls it.
  std::function<void(const pool_event&)> on_event = {};

  /// Who asks for a resource while others wait may take one that has just come back, before them;
  /// the first of those that wait is woken to look for itself. Who was woken so long ago, and found
  /// none, is handed the next one; then the time of the next in the queue begins. With many more
  /// threads than resources that saves most uses a switch between threads. Callbacks may then also
  /// be called by threads that wait. Not with maintenance::by_callers. Zero: whatever comes back is
  /// handed to the first who waits.
  time_limit overtake_for = std::chrono::nanoseconds(0);

  /// Whether an acquire fails at once when all resources are held by threads that wait themselves.
  /// A lease that was moved counts as held by nobody in particular; one that another thread ends
  /// without moving it counts as held by who acquired it.
  bool detect_hold_and_wait = true;

  maintenance upkeep = maintenance::background;

  /// Must outlive the pool, its leases, and the creates and acquires that outlast its end; null:
  /// std::chrono::steady_clock.
  const time_source* clock = nullptr;
};

}  // namespace lido
