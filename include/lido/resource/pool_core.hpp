/// @file
/// Internal. The part of a resource pool that does not depend on R.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "lido/base/assert.hpp"
#include "lido/base/callback.hpp"
#include "lido/base/durations.hpp"
#include "lido/concurrency/mutex.hpp"
#include "lido/concurrency/parking.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/debug/code_address.hpp"
#include "lido/resource/factory_hooks.hpp"
#include "lido/resource/idle_cache.hpp"
#include "lido/resource/key_table.hpp"
#include "lido/resource/options.hpp"
#include "lido/resource/pool_groups.hpp"
#include "lido/resource/pool_reports.hpp"
#include "lido/resource/stats.hpp"

namespace lido::inline v0::detail {

// The library exchanges standard containers with the program, and two macros of libstdc++ change
// the layout of these containers. A pool's constructor calls two functions whose names depend on
// these macros. So a program whose macros differ from those of the library does not link.
#ifdef _GLIBCXX_DEBUG
#define LIDO_SAME_CONTAINERS resource_pools_need_a_lido_built_with_GLIBCXX_DEBUG
#else
#define LIDO_SAME_CONTAINERS resource_pools_need_a_lido_built_without_GLIBCXX_DEBUG
#endif
#if defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#define LIDO_SAME_STRINGS resource_pools_need_a_lido_built_with_GLIBCXX_USE_CXX11_ABI_0
#else
#define LIDO_SAME_STRINGS resource_pools_need_a_lido_built_with_GLIBCXX_USE_CXX11_ABI_1
#endif
void LIDO_SAME_CONTAINERS() noexcept;
void LIDO_SAME_STRINGS() noexcept;

class kernel_shell;
class registration;
class slot_group;
struct refusal;

/// Makes a deadline from a duration or a moment.
template <class Rep, class Period>
[[nodiscard]] deadline deadline_of(std::chrono::duration<Rep, Period> wait) noexcept {
  return deadline::after(wait);
}
template <class Clock, class Duration>
[[nodiscard]] deadline deadline_of(std::chrono::time_point<Clock, Duration> moment) {
  return deadline::at(moment);
}

/// The arguments of an acquire.
struct acquire_call {
  deadline until;
  std::stop_token stop;
  code_address at;
  sought_key* key = nullptr;  ///< null in a pool without keys
  bool is_urgent = false;
};

/// The result of an acquire: a slot, or the reason why there is none.
struct acquire_outcome {
  slot_grant grant;
  acquire_failure cause = acquire_failure::timed_out;
  /// Null if there is a slot, or if there was no memory for the details.
  std::shared_ptr<const acquire_error::details> why;
};

using acquire_completion = completion<acquire_outcome>;
using close_completion = completion<close_report>;

/// The part of a resource pool that does not depend on R. It consists of several parts.
/// `kernel_shell` owns the mutex and the kernel. `pool_groups` finds the group of a key.
/// `thread_acquire` and `callback_waiter` wait for resources. `pool_reports` reports the
/// statistics.
///
/// Lives as long as the pool, its threads, and leases that outlive the pool. In a process created
/// by fork, the core refuses every use and destroys nothing.
class pool_core final : public std::enable_shared_from_this<pool_core>,
                        public thread_exit_listener {
 public:
  /// Creates a core. `keys` is null in a pool without keys. Ticks remove groups that have neither
  /// resources nor waiters. Throws std::bad_alloc.
  pool_core(pool_settings settings, slot_maker make, std::shared_ptr<key_table> keys);
  pool_core(const pool_core&) = delete;
  pool_core& operator=(const pool_core&) = delete;
  ~pool_core();

  /// Registers the pool and begins its maintenance. `hooks` are the hooks of a pool without keys,
  /// and null in a pool with keys. Throws std::bad_alloc.
  void start(std::shared_ptr<factory_hooks> hooks);

  // ---- acquire ----------------------------------------------------------------------------------

  /// Acquires a resource on the fast path. Requires: the pool has no keys.
  [[nodiscard, LIDO_ASSERTS]] slot_grant try_acquire_last(code_address at) noexcept {
    return groups_.main().try_acquire_last(at);
  }
  /// Acquires a resource. Waits until the deadline, or not at all if the deadline is now. Throws
  /// whatever the functions of sought_key throw.
  [[nodiscard]] acquire_outcome acquire(const acquire_call& call);
  /// Takes an idle, fresh resource. Never creates, validates or waits. Throws whatever the
  /// functions of sought_key throw.
  [[nodiscard]] slot_grant acquire_idle(code_address at, const sought_key* key);
  /// Acquires a resource for a callback: calls `done` exactly once, perhaps before this function
  /// returns. Throws std::bad_alloc, or whatever the functions of sought_key throw. If it throws,
  /// it does not call `done`.
  void acquire_async(const acquire_call& call, acquire_completion done);

  // ---- by the holder of a resource; none throws -------------------------------------------------

  /// Ends a use whose resource has to be reset, or perhaps destroyed. The resource may be used up,
  /// too old or flushed. If `unwound` is true, an exception has ended the lease.
  void release_slow(const slot_grant& grant, bool unwound) noexcept;
  void discard(const slot_grant& grant) noexcept;
  void discard_as(pool_slot& slot, destroy_reason why) noexcept;
  /// Prevents interrupts of the use from now on. Waits for an interrupt that is in progress.
  void begin_detach(pool_slot& slot) noexcept;
  /// Allows the use to be interrupted again, since the resource was not moved.
  void give_up_detach(pool_slot& slot) noexcept;
  /// Ends the use of a resource that was moved out of its slot.
  void detach(const slot_grant& grant) noexcept;

  // ---- control ----------------------------------------------------------------------------------

  bool kill(const resource_handle& handle, ongoing_uses uses) noexcept;
  /// Flushes the group of `key`, or all groups if `key` is null. Returns false if the key is
  /// unknown. Throws std::bad_alloc, or whatever looking up the key throws. If it throws, it has
  /// had no effect.
  bool flush(const sought_key* key = nullptr, ongoing_uses uses = ongoing_uses::finish);
  /// Flushes the group of `key` if its current generation is `generation`. Returns false if the
  /// generations differ, or if the key is unknown. Throws whatever `flush` throws.
  bool flush_of(const sought_key* key, resource_generation generation);
  /// Flushes the group of a resource in use if the resource is of the group's current generation.
  /// Returns false if the resource is of an earlier generation, or belongs to another pool. Throws
  /// std::bad_alloc.
  bool flush_of(const slot_grant& grant);
  /// Flushes the group of a key. The key is removed together with its last resource. Throws
  /// whatever `flush` throws.
  bool forget(const sought_key& key);
  /// Ends the pause after failed creates of `key`, or of all keys if `key` is null. Throws whatever
  /// the functions of sought_key throw.
  void retry_now(const sought_key* key = nullptr);
  void replace_hooks(std::shared_ptr<factory_hooks> hooks);
  /// Changes the limits. A null `min_idle` leaves that limit unchanged.
  void resize(std::size_t max_size, const std::size_t* min_idle);
  void suspend(bool on) noexcept;
  /// Does the maintenance that is due. `by_pool` is true if the caller is the timekeeping thread,
  /// which runs no user code.
  void tick(bool by_pool = false) noexcept;
  void watch_leases(bool on) noexcept;
  close_report close(const deadline& until);
  /// Closes the pool in a separate thread, which then calls `done`. Throws std::system_error or
  /// std::bad_alloc. If it throws, it has had no effect.
  void close_async(const deadline& until, close_completion done);
  /// Waits until `count` resources are idle. Returns false at the deadline, or if the pool is
  /// closed.
  [[nodiscard]] bool wait_until_idle(std::size_t count, const deadline& until);
  /// Closes the pool. Leases that have not ended keep the core alive.
  void let_go() noexcept;

  /// Returns the outcome of an acquire that has failed. Costs the same however many leases exist.
  [[nodiscard]] acquire_outcome failed(acquire_failure cause, const refusal& found) const noexcept;

  // ---- parts of the pool ------------------------------------------------------------------------

  [[nodiscard]] const pool_settings& settings() const noexcept { return settings_; }
  [[nodiscard]] const pool_origin& origin() const noexcept { return origin_; }
  [[nodiscard]] pool_gate& gate() const noexcept { return *gate_; }
  [[nodiscard]] kernel_shell& shell() const noexcept { return *shell_; }
  [[nodiscard]] pool_groups& groups() noexcept { return groups_; }
  [[nodiscard]] pool_reports& reports() noexcept { return reports_; }

 private:
  void on_thread_exit(std::uint32_t /*number*/) noexcept override {}
  void on_fork(std::uint32_t survivor) noexcept override;
  [[nodiscard]] bool is_reset_by_pool(pool_slot& slot) const noexcept;
  /// Flushes the group that `find` returns if the group's current generation is `generation`.
  /// Returns true if it has flushed the group.
  template <class Find>
  bool flush_found(const Find& find, std::uint32_t generation);
  std::size_t close_without_report(const deadline& until) noexcept;

  const pool_settings settings_;
  /// Identifies this copy of the library, since a lease may end in code that uses another copy.
  const pool_origin origin_;
  // Shared pointers, although nothing shares them: a unique_ptr takes three times as long to
  // compile here.
  const std::shared_ptr<kernel_shell> shell_;
  pool_gate* gate_;
  pool_groups groups_;
  pool_reports reports_{*this};
  std::vector<std::shared_ptr<factory_hooks>> old_hooks_;  // protected by resizing_
  // Null if the pool is in no registry, or is not registered any more.
  std::shared_ptr<registration> entry_;
  // Lets one thread at a time change limits or hooks. Locked before the shell's mutex.
  plain_mutex resizing_;
  // Lets one close at a time stop the threads. Locked before all other mutexes.
  plain_mutex ending_;
};

/// Creates the core of a pool. Throws std::bad_alloc.
[[nodiscard]] std::shared_ptr<pool_core> make_core(pool_settings settings, slot_maker make,
                                                   std::shared_ptr<key_table> keys);

}  // namespace lido::inline v0::detail
