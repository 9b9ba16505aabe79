/// @file
/// Internal. The part of a resource pool that does not know R.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

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
// their layout. A pool's constructor calls two functions whose names depend on these macros, so
// programs that differ from the library do not link.
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

/// Makes a deadline of a duration or a moment.
template <class Rep, class Period>
[[nodiscard]] deadline deadline_of(std::chrono::duration<Rep, Period> wait) noexcept {
  return deadline::after(wait);
}
template <class Clock, class Duration>
[[nodiscard]] deadline deadline_of(std::chrono::time_point<Clock, Duration> moment) {
  return deadline::at(moment);
}

/// What an acquire asks for.
struct acquire_call {
  deadline until;
  std::stop_token stop;
  code_address at;
  sought_key* key = nullptr;  ///< null in a pool without keys
  bool is_urgent = false;
};

/// The result of an acquire: a slot, or why there is none.
struct acquire_outcome {
  slot_grant grant;
  acquire_failure cause = acquire_failure::timed_out;
  std::shared_ptr<const acquire_error::details>
      why;  ///< null if there is a slot, or no memory for it
};

using acquire_completion = completion<acquire_outcome>;
using close_completion = completion<close_report>;

/// The part of a resource pool that does not know R. Its own parts: `kernel_shell` has the mutex
/// and the kernel, `pool_groups` finds the group of a key, `thread_acquire` and `callback_waiter`
/// wait, and `pool_reports` has the numbers.
///
/// Lives as long as the pool, its threads, and leases that outlive it. In a process made by fork it
/// refuses use and destroys nothing.
class pool_core final : public std::enable_shared_from_this<pool_core>,
                        public thread_exit_listener {
 public:
  /// `keys`: null in a pool without keys. Ticks remove groups without resources and waiters. Throws
  /// std::bad_alloc.
  pool_core(pool_settings settings, slot_maker make, std::shared_ptr<key_table> keys);
  pool_core(const pool_core&) = delete;
  pool_core& operator=(const pool_core&) = delete;
  ~pool_core();

  /// Registers the pool and begins its maintenance. `hooks`: those of a pool without keys; null
  /// otherwise. Throws std::bad_alloc.
  void start(std::shared_ptr<factory_hooks> hooks);

  // ---- acquire ----------------------------------------------------------------------------------

  /// The fast path of a pool without keys.
  [[nodiscard]] slot_grant try_acquire_last(code_address at) noexcept {
    return groups_.main().try_acquire_last(at);
  }
  /// Acquires a resource; waits until the deadline, or not at all if that is now. Throws what a
  /// sought_key throws.
  [[nodiscard]] acquire_outcome acquire(const acquire_call& call);
  /// Takes an idle, fresh resource; neither creates, validates nor waits. Throws what a sought_key
  /// throws.
  [[nodiscard]] slot_grant acquire_idle(code_address at, const sought_key* key);
  /// Acquires a resource for a callback: calls `done` exactly once, perhaps before this returns.
  /// Throws std::bad_alloc, and what a sought_key throws; then `done` is not called.
  void acquire_async(const acquire_call& call, acquire_completion done);

  // ---- by the holder of a resource; none throws -------------------------------------------------

  /// Ends a use whose resource has to be reset, or perhaps destroyed: used up, too old, flushed,
  /// unwound.
  void release_slow(const slot_grant& grant, bool unwound) noexcept;
  void discard(const slot_grant& grant) noexcept;
  void discard_as(pool_slot& slot, destroy_reason why) noexcept;
  /// Keeps the use from being interrupted from now on. Waits for an interrupt that is in progress.
  void begin_detach(pool_slot& slot) noexcept;
  /// Lets the use be interrupted again: the resource was not moved.
  void give_up_detach(pool_slot& slot) noexcept;
  /// Ends the use of a resource that was moved out of its slot.
  void detach(const slot_grant& grant) noexcept;

  // ---- control ----------------------------------------------------------------------------------

  bool kill(const resource_handle& handle, ongoing_uses uses) noexcept;
  /// Flushes the group of a key, or all. Returns false if the key is not known. Throws
  /// std::bad_alloc, and what looking for a key throws; then nothing has happened.
  bool flush(const sought_key* key = nullptr, ongoing_uses uses = ongoing_uses::finish);
  /// Flushes a group if its resources are of that generation. Returns false if they are not, or the
  /// key is not known. Throws as `flush`.
  bool flush_of(const sought_key* key, resource_generation generation);
  /// Flushes the group of a resource in use if that is of its generation. Returns false if it is
  /// not, or is of another pool. Throws std::bad_alloc.
  bool flush_of(const slot_grant& grant);
  /// Flushes the group of a key; the key is removed with its last resource. Throws as `flush`.
  bool forget(const sought_key& key);
  /// Ends the pause after failed creates: of a key, or of all. Throws what a sought_key throws.
  void retry_now(const sought_key* key = nullptr);
  void replace_hooks(std::shared_ptr<factory_hooks> hooks);
  /// Changes the limits. A null `min_idle` leaves that one unchanged.
  void resize(std::size_t max_size, const std::size_t* min_idle);
  void suspend(bool on) noexcept;
  /// Does what is due. `by_pool`: called by the timekeeping thread, which runs no user code.
  void tick(bool by_pool = false) noexcept;
  void watch_leases(bool on) noexcept;
  close_report close(const deadline& until);
  /// Closes the pool in a separate thread, which then calls `done`. Throws std::system_error or
  /// std::bad_alloc; then nothing has happened.
  void close_async(const deadline& until, close_completion done);
  /// Waits until so many resources are idle. Returns false at the deadline, or if the pool is
  /// closed.
  [[nodiscard]] bool wait_until_idle(std::size_t count, const deadline& until);
  /// Closes the pool. Leases that are still out keep it alive.
  void let_go() noexcept;

  /// Returns the outcome of an acquire that has failed. Costs the same however many leases are out.
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
  /// Flushes the group that `find` returns, if its resources are of that generation.
  template <class Find>
  bool flush_found(const Find& find, std::uint32_t generation);
  std::size_t close_without_report(const deadline& until) noexcept;

  const pool_settings settings_;
  const pool_origin origin_;  ///< leases may end in code with another copy of the library
  // Shared pointers, though not shared: a unique_ptr takes three times as long to compile here.
  const std::shared_ptr<kernel_shell> shell_;
  pool_gate* gate_;
  pool_groups groups_;
  pool_reports reports_{*this};
  std::vector<std::shared_ptr<factory_hooks>> old_hooks_;  // under resizing_
  std::shared_ptr<registration> entry_;                    // null: in no registry, or no longer
  plain_mutex resizing_;                                   // one at a time; outside of the shell's
  plain_mutex ending_;  // one close stops the threads; outside of all others
};

/// Throws std::bad_alloc.
[[nodiscard]] std::shared_ptr<pool_core> make_core(pool_settings settings, slot_maker make,
                                                   std::shared_ptr<key_table> keys);

}  // namespace lido::inline v0::detail
