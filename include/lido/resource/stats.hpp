/// @file
/// Public. Statistics, leases and events of a resource pool, and the error of a failed acquire.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lido/base/durations.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/resource/duration_histogram.hpp"
#include "lido/resource/factory.hpp"

namespace lido::inline v0 {

/// The number of earlier flushes of a pool or of a key. `flush` compares it with the current
/// number.
struct resource_generation {
  /// Number of earlier flushes.
  std::uint32_t number = 0;
  friend constexpr bool operator==(const resource_generation&,
                                   const resource_generation&) noexcept = default;
};

/// Identifies one resource as long as the resource lives, and nothing afterwards. In another pool,
/// the chance that the handle identifies a resource is one in billions.
struct resource_handle {
  std::uint32_t index = 0;  ///< number of the slot that holds the resource
  std::uint64_t birth = 0;  ///< 0: the handle identifies no resource
  friend bool operator==(const resource_handle&, const resource_handle&) noexcept = default;
};

/// One resource in use.
struct lease_info {
  /// Handle of the resource, for `kill`.
  resource_handle resource;
  /// Time since the last tick before the acquire, which is too long by at most one tick.
  std::chrono::nanoseconds held_for{0};
  /// System's id of the thread that acquired the resource. It is 0 if it is unknown, for instance
  /// for a callback, a coroutine or a lease that was moved.
  std::uint32_t thread = 0;
  const void* address = nullptr;  ///< code address of the acquire
  bool exempt = false;            ///< `lease.expect_long_use()` has switched reports off
  std::string key;                ///< text of the key in reports on all keys; otherwise empty

  /// Returns the module and offset of `address`, and a command that prints the function, file and
  /// line.
  [[nodiscard]] std::string where() const;
};

/// A snapshot of the statistics of a pool or of a key, taken under the pool's mutex. Each resource
/// is counted once: `live` is idle + in_use + creating + checking + closing. `refused` counts
/// acquires that failed because of too many waiters, a closed pool, a failed create or
/// hold-and-wait. `exhausted` counts acquires that found no idle resource in a pool that already
/// had its maximum number of resources. `exhausted` does not count an acquire for which a resource
/// was being checked or created.
struct resource_pool_stats : pool_stats {
  std::size_t creating = 0;  ///< includes creates that are due, which a tick or acquire will run
  /// Resources that are being validated or reset.
  std::size_t checking = 0;
  /// Resources that are being destroyed.
  std::size_t closing = 0;
  bool suspended = false;  ///< `suspend()` is in force: acquires wait even if resources are idle

  std::uint64_t acquires = 0;  ///< acquires that got a resource
  std::uint64_t hits = 0;      ///< acquires that got a resource without queueing
  /// Acquires whose time limit passed.
  std::uint64_t timed_out = 0;
  /// Acquires that were ended by a stop token or by a cancellation of Asio.
  std::uint64_t cancelled = 0;
  /// Successful calls of `create`, and adopted resources.
  std::uint64_t created = 0;
  /// Calls of `create` that failed.
  std::uint64_t create_failures = 0;
  /// Resources that `detach` has removed from the pool.
  std::uint64_t detached = 0;
  /// Destroyed resources for each destroy_reason; see `destroyed_for`.
  std::array<std::uint64_t, destroy_reasons> destroyed{};
  std::uint64_t suspected_leaks = 0;  ///< leases reported as suspected leaks so far
  /// Number of times the mutex was locked. Acquires of idle, valid resources never lock it.
  std::uint64_t mutex_locks = 0;

  /// Total real time of waits in the queue that ended with a resource. Validations that the waiter
  /// itself runs are not included.
  std::chrono::nanoseconds waited_for{0};
  /// Longest real time of such a wait.
  std::chrono::nanoseconds longest_wait{0};
  /// Total real time of successful creates.
  std::chrono::nanoseconds creating_for{0};
  /// Longest real time of a successful create.
  std::chrono::nanoseconds longest_create{0};

  /// Returns the number of resources that were destroyed for `reason`.
  [[nodiscard]] std::uint64_t destroyed_for(destroy_reason reason) const noexcept {
    return destroyed[static_cast<std::size_t>(reason)];
  }
  /// Adds the statistics of another key. Of each longest time, keeps the longer one. Leaves
  /// `high_water` unchanged.
  void add(const resource_pool_stats& other) noexcept;
};

/// A snapshot of the statistics of all keys: totals, and the longest times of any key. `capacity`
/// is max_total.
struct keyed_resource_pool_stats : resource_pool_stats {
  std::size_t keys = 0;  ///< keys that have resources, or had some a tick ago
};

/// What a registry reports about a resource pool.
struct resource_pool_report {
  /// Statistics of the pool; in a keyed pool, those of all keys together.
  resource_pool_stats stats;
  /// Durations of the pool's operations.
  resource_pool_times times;
};

/// An event for `on_event`. If a lease ends while it is being reported, the two events may be
/// delivered concurrently, and in either order.
struct pool_event {
  /// What has happened.
  enum class kind : std::uint8_t {
    create_failed,       ///< a create failed
    validate_failed,     ///< `validate` threw
    reset_failed,        ///< `reset` threw
    slow_lease,          ///< a lease has lasted for longer than `report_slow_after`
    suspected_leak,      ///< a lease has lasted for longer than `report_leak_after`
    returned_after_all,  ///< a lease that was reported before has ended
    orphaned             ///< the pool was destroyed before these leases ended
  };
  /// What has happened.
  kind what;
  /// Name of the pool.
  std::string_view pool = {};
  std::exception_ptr error = nullptr;   ///< exception of create_failed
  std::string_view text = {};           ///< message of an exception that the factory threw
  std::vector<lease_info> leases = {};  ///< the leases that the other events report
};

/// Returns the kind as text, such as "create failed" or "slow lease".
[[nodiscard]] std::string_view to_string(pool_event::kind what) noexcept;

/// What was left when `close` returned.
struct close_report {
  /// Leases that had not ended.
  std::vector<lease_info> holders;
  /// The larger of two numbers. One is the number of resources that a thread is creating,
  /// validating, resetting or destroying, or is about to. The other is the number of calls by the
  /// pool's threads that have not returned, including those of `on_event` and callbacks.
  std::size_t creating = 0;

  /// Returns true if nothing was left.
  [[nodiscard]] bool complete() const noexcept { return holders.empty() && creating == 0; }
};

/// Why an acquire failed.
enum class acquire_failure : std::uint8_t {
  timed_out,         ///< the timeout of the acquire has passed
  cancelled,         ///< stopped by the stop token, or the cancellation slot of Asio
  closed,            ///< the pool is closed
  too_many_waiters,  ///< more than max_waiters
  create_failed,     ///< a create failed, and waiting longer is useless
  self_deadlock,     ///< all resources are held by threads that wait for this pool
  other_process,     ///< the pool was created by a process that this one was forked from
};

/// Returns the cause in words, such as "timed out".
[[nodiscard]] std::string_view to_string(acquire_failure cause) noexcept;

/// Thrown if an acquire fails. `what()` names the pool, the cause, the counts, and the threads that
/// have held resources for the longest time, if they are known. It also contains the text of the
/// last error of `create`, unless a later create succeeded.
// NOLINTNEXTLINE(cppcoreguidelines-special-member-functions): moves copy, so the details stay
class acquire_error : public std::runtime_error {
 public:
  /// Everything that the error knows.
  struct details {
    /// Name of the pool.
    std::string pool;
    /// Cause of the failure.
    acquire_failure cause = acquire_failure::timed_out;
    /// Statistics of the pool, or of the key, at the time of the failure.
    resource_pool_stats counts;
    std::size_t total_live = 0;  ///< resources of all keys; 0 in a pool without keys
    std::size_t max_total = 0;   ///< 0 in a pool without keys
    /// Exception of the last create; see `create_error()`.
    std::exception_ptr create_error;
    /// Message of the last create that failed.
    std::string create_error_text;
    std::vector<lease_info> holders;  ///< at most four, the longest first
  };

  /// Makes an exception with these details. Requires: `what_was` is not null.
  explicit acquire_error(std::shared_ptr<const details> what_was);
  acquire_error(const acquire_error&) noexcept = default;
  acquire_error& operator=(const acquire_error&) noexcept = default;
  ~acquire_error() override = default;

  /// Returns the name of the pool.
  [[nodiscard]] std::string_view pool_name() const noexcept { return details_->pool; }
  /// Returns the cause of the failure.
  [[nodiscard]] acquire_failure cause() const noexcept { return details_->cause; }
  /// Returns the statistics of the pool, or of the key, at the time of the failure.
  [[nodiscard]] const resource_pool_stats& counts() const noexcept { return details_->counts; }
  /// Returns the exception of the last create. The exception is null if that create succeeded, or
  /// returned a create_error.
  [[nodiscard]] const std::exception_ptr& create_error() const noexcept {
    return details_->create_error;
  }
  /// Returns the leases that have been held for the longest time. `what()` names their threads if
  /// they are known. `where()` of each lease names the code that acquired it.
  [[nodiscard]] const std::vector<lease_info>& holders() const noexcept {
    return details_->holders;
  }

 private:
  std::shared_ptr<const details> details_;  // shared: copying an exception must not throw
};

}  // namespace lido::inline v0
