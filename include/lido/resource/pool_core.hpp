/// @file
/// Internal. A resource pool without its R: takes the lock, tells the kernel, runs the effects.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "lido/concurrency/mutex.hpp"
#include "lido/concurrency/parking.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/debug/place.hpp"
#include "lido/debug/registry.hpp"
#include "lido/resource/hooks.hpp"
#include "lido/resource/idle_cache.hpp"
#include "lido/resource/key_table.hpp"
#include "lido/resource/options.hpp"
#include "lido/resource/stats.hpp"

namespace lido::inline v0::detail {

// Compiled code has standard containers in common with the program, which differ by two macros of
// libstdc++. A pool's constructor calls two of these functions, which the library must have.
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

class acquire_waiter;
class callback_waiter;
class pool_kernel;
class slot_group;
class task_runner;
class wait_queue;
struct effects;
struct moment;
struct refusal;

/// For a caller that is given a duration or a moment.
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
  place at;
  sought_key* key = nullptr;  ///< null in a pool without keys
  bool is_urgent = false;
};

/// What it got: a slot, or why none.
struct acquire_outcome {
  slot_grant grant;
  acquire_failure cause = acquire_failure::timed_out;
  std::shared_ptr<const acquire_error::details> why;  ///< null with a slot, and without memory
};

/// A callback, called once, without locks, with a Result. Move-only.
template <class Result>
class completion {
 public:
  template <class F>
  explicit completion(F f)
      : f_(new F(std::move(f)), [](void* made) noexcept { delete static_cast<F*>(made); }),
        call_([](void* made, Result&& result) noexcept {
          (*static_cast<F*>(made))(std::move(result));
        }) {}
  void operator()(Result result) noexcept { call_(f_.get(), std::move(result)); }

 private:
  std::unique_ptr<void, void (*)(void*) noexcept> f_;
  void (*call_)(void* f, Result&& result) noexcept;
};
using acquire_completion = completion<acquire_outcome>;
using close_completion = completion<close_report>;

/// Every function locks the mutex, passes an event to the kernel, unlocks, and runs the effects.
/// No user code runs under the mutex, except hashes and comparisons of keys.
///
/// Lives as long as the pool, its threads, and leases that outlive it. In a process made by fork it
/// refuses use and ends nothing.
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): final
class pool_core final : public std::enable_shared_from_this<pool_core>,
                        public thread_exit_listener {
 public:
  /// `keys`: null in a pool without keys. Ticks remove groups that have nothing. Throws
  /// std::bad_alloc.
  pool_core(pool_settings settings, slot_maker make, std::unique_ptr<key_table> keys);
  pool_core(const pool_core&) = delete;
  pool_core& operator=(const pool_core&) = delete;
  ~pool_core();

  /// Starts the thread of the pool, if it has any. `hooks`: of a pool without keys; null otherwise.
  /// Throws std::system_error, std::bad_alloc.
  void start(std::shared_ptr<factory_hooks> hooks);
  /// Adds the group of a new key. Under the mutex, for a sought_key. Throws std::bad_alloc.
  idle_cache& add_group(std::shared_ptr<factory_hooks> hooks, const known_key& key,
                        std::string text);

  // ---- acquire ----------------------------------------------------------------------------------

  /// The fast path of a pool without keys.
  [[nodiscard]] slot_grant try_acquire_fast(place at) noexcept {
    return main_->try_acquire_last(at);
  }
  [[nodiscard]] pool_gate& gate() const noexcept { return *gate_; }
  /// Returns null in a pool without keys.
  [[nodiscard]] key_table* keys() const noexcept { return keys_.get(); }
  /// Waits until the deadline; not at all if that is at once. Throws what a sought_key throws.
  [[nodiscard]] acquire_outcome acquire(acquire_call request);
  /// Completes exactly once, perhaps before it returns. Throws std::bad_alloc, and what a
  /// sought_key throws; then it does not complete.
  void acquire_async(const acquire_call& request, acquire_completion done);

  // ---- by the holder of a resource; none throws -------------------------------------------------

  void discard(const slot_grant& grant) noexcept;
  /// The resource was moved out of its slot.
  void detach(const slot_grant& grant) noexcept;

  // ---- control ----------------------------------------------------------------------------------

  bool kill(const resource_handle& handle) noexcept;
  /// Flushes the group of a key, or all. Throws std::bad_alloc, and what looking for a key throws.
  void flush(const sought_key* key = nullptr);
  void replace_hooks(std::shared_ptr<factory_hooks> hooks);
  void resize(std::size_t max_size, std::optional<std::size_t> min_idle);
  void suspend(bool on) noexcept;
  /// `by_pool`: by its thread that keeps time, which runs no code of users.
  void tick(bool by_pool = false) noexcept;
  void watch_leases(bool on) noexcept;
  close_report close(const deadline& until);
  /// The same in a thread of its own, which calls `done`. Throws std::system_error, std::bad_alloc;
  /// then nothing has happened.
  void close_async(const deadline& until, close_completion done);
  /// Until so many resources are idle. False: the time is up first.
  [[nodiscard]] bool wait_until_idle(std::size_t count, const deadline& until);
  /// Closes the pool. Leases that are still out keep it alive.
  void let_go() noexcept;

  // ---- numbers ----------------------------------------------------------------------------------

  [[nodiscard]] const pool_settings& settings() const noexcept { return settings_; }
  /// Of a pool without keys.
  [[nodiscard]] resource_pool_stats stats() {
    resource_pool_stats found;
    for_each_stats(
        [&found](const known_key* /*key*/, const resource_pool_stats& one) { found = one; });
    return found;
  }
  /// Of all groups, and those that are gone.
  [[nodiscard]] keyed_resource_pool_stats all_stats();
  /// Throws std::bad_alloc.
  [[nodiscard]] resource_pool_times times();
  /// Of each group, with its key; under the mutex. One look at each slot.
  void for_each_stats(
      const std::function<void(const known_key* key, const resource_pool_stats&)>& f);
  /// Of one key; nothing if the pool does not know it. Throws what looking for it throws.
  [[nodiscard]] std::optional<resource_pool_stats> stats_of(const sought_key& key);
  /// Throws std::bad_alloc.
  [[nodiscard]] std::vector<lease_info> leases();

 private:
  friend class callback_waiter;
  friend class idle_cache;
  friend class task_runner;

  static void fill(void* core, pool_report& out);
  void on_thread_exit(std::uint32_t /*number*/) noexcept override {}
  void on_fork(std::uint32_t survivor) noexcept override;
  /// In a process made by fork, whose mutex another thread may have held.
  // relaxed (whole function): set by the one thread of that process
  [[nodiscard]] bool is_foreign() const noexcept {
    return foreign_.load(std::memory_order_relaxed);
  }

  template <class F>
  decltype(auto) locked(const F& f) {
    const std::lock_guard<counted_mutex> guard(mutex_);
    return f();
  }
  idle_cache& make_group(std::shared_ptr<factory_hooks> hooks, std::uint64_t hash,
                         std::string text);
  /// Under the mutex, after a look at each slot.
  [[nodiscard]] resource_pool_stats stats_of(const slot_group& group) const noexcept;
  /// As `for_each_stats`, under the mutex.
  template <class F>
  void for_each_locked(const F& f);
  void remove_unused_groups() noexcept;
  template <class Event>
  void apply(const Event& event);
  template <class Find, class Event>
  bool apply_to(const Find& find, const Event& event);
  template <class Event>
  void tell_kernel(const Event& event, effects& out);
  template <class First, class Event>
  void tell_kernel(const First& first, const Event& event, effects& out);
  [[nodiscard]] moment read_clocks() const noexcept;
  void run(effects& out, bool by_pool) noexcept;
  [[nodiscard]] bool has_next(effects& out) noexcept;
  void run_task(pool_slot& slot) noexcept;
  template <class F>
  bool stoppable(const pool_slot& slot, const std::stop_token& stop, const F& f) noexcept;
  [[nodiscard]] bool is_valid(pool_slot& slot, const deadline& until,
                              const std::stop_token& stop) noexcept;
  [[nodiscard]] bool passes(pool_slot& slot, const create_context* context) noexcept;
  [[nodiscard]] slot_grant create(pool_slot& slot, const deadline& until,
                                  const std::stop_token& stop) noexcept;
  void tell(pool_event event, const std::shared_ptr<const std::string>& name) const noexcept;

  [[nodiscard]] slot_grant begin_use_of_idle(place at) noexcept;
  [[nodiscard]] slot_grant try_acquire_slow(const acquire_call& request);
  [[nodiscard]] bool prepare_new(const acquire_call& request) const;
  void enqueue(acquire_waiter& waiter, const acquire_call& request, bool again);
  [[nodiscard]] bool begin_wait(acquire_waiter& waiter, const acquire_call& request, bool again);
  void wait(acquire_waiter& waiter, const acquire_call& request) noexcept;
  [[nodiscard]] bool sleeps_too_long(acquire_waiter& waiter) noexcept;
  [[nodiscard]] slot_grant use(acquire_waiter& waiter, const acquire_call& request) noexcept;
  [[nodiscard]] bool holds_any(std::uint32_t thread) const noexcept;
  [[nodiscard]] slot_group* find_or_add(sought_key* key);
  [[nodiscard]] acquire_outcome failed(acquire_failure cause, const refusal& found) const noexcept;
  void release_slow(const slot_grant& grant, bool unwound) noexcept;
  [[nodiscard]] bool is_reset_by_pool(pool_slot& slot) const noexcept;
  void discard_as(pool_slot& slot, destroy_reason why) noexcept;
  /// A close without the report, which takes memory. Returns what is still under way.
  std::size_t end(const deadline& until) noexcept;
  /// It is closed, and has no resource.
  [[nodiscard]] bool is_drained() noexcept;

  const pool_settings settings_;
  const pool_origin origin_;  ///< leases may end in code with another copy of the library
  const std::unique_ptr<key_table> keys_;
  counted_mutex mutex_;
  std::unique_ptr<pool_kernel> kernel_;
  pool_gate* gate_;
  idle_cache* main_ = nullptr;
  std::unique_ptr<task_runner> runner_;
  atomic<bool> foreign_{false};                            // in a process made by fork
  std::vector<std::shared_ptr<factory_hooks>> old_hooks_;  // under resizing_
  std::uint64_t rounds_ = 0;             // of visits to all groups; under the mutex
  std::unique_ptr<registration> entry_;  // null: in no registry, or no longer
  std::shared_ptr<pool_core> self_;      // while leases outlive the pool
  plain_mutex resizing_;                 // one at a time; outside of mutex_
  plain_mutex ending_;                   // one close stops the threads; outside of all others
};

}  // namespace lido::inline v0::detail
