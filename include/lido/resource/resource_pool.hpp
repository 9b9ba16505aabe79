/// @file
/// Public. `resource_pool<R>`, a pool of connections and other resources that are expensive to
/// create and can fail or expire. Users wait while all resources are in use.
#pragma once

#include <memory>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "lido/base/assert.hpp"
#include "lido/base/durations.hpp"
#include "lido/base/exceptions_agree.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/resource/acquire_forms.hpp"
#include "lido/resource/co_acquire.hpp"
#include "lido/resource/factory.hpp"
#include "lido/resource/lease.hpp"
#include "lido/resource/options.hpp"

namespace lido::inline v0 {

namespace detail {

/// The control functions of pools with and without keys.
class pool_controls {
 public:
  pool_controls(const pool_controls&) = delete;
  pool_controls& operator=(const pool_controls&) = delete;

  /// Destroys a resource: at once if it is idle, or when it comes back if it is in use. If `uses`
  /// is `ongoing_uses::interrupt` and the resource is in use, also calls the factory's `interrupt`,
  /// if there is one. This call runs in the calling thread. Returns false if the resource no longer
  /// exists.
  bool kill(const resource_handle& handle, ongoing_uses uses = ongoing_uses::finish) noexcept {
    return core_->kill(handle, uses);
  }
  /// Makes acquires wait even if resources are idle, and prevents new creates. `resume` serves the
  /// waiters in the order of the queue.
  void suspend() noexcept { core_->suspend(/*on=*/true); }
  /// Ends `suspend`: serves the waiters in the order of the queue.
  void resume() noexcept { core_->suspend(/*on=*/false); }
  /// Ends the pause after failed creates, and tries at once to create the resources that are
  /// needed. Meant for programs that learn that a server is available again.
  void retry_now() noexcept { core_->retry_now(); }
  /// Does the maintenance that is due. A pool without threads does its maintenance only here.
  void tick() noexcept { core_->tick(); }
  /// Switches reports of slow and leaked leases on or off. These reports are initially on if the
  /// options set a time for them.
  void watch_leases(bool on) noexcept { core_->watch_leases(on); }
  /// Closes the pool: fails all waiting acquires, destroys idle resources, and waits up to
  /// `timeout` for the others to come back. Returns a report of what is left. May be called again.
  /// Throws std::bad_alloc if there is no memory for the report; even then the pool is closed. Code
  /// that the pool calls should use `async_close` instead, since `close` cannot wait for its own
  /// caller to return.
  template <class Rep, class Period>
  close_report close(std::chrono::duration<Rep, Period> timeout) {
    return core_->close(deadline::after(timeout));
  }
  template <unitless Number>
  close_report close(Number) = delete;  // rejects a number without a unit
  /// Closes the pool without waiting. A separate thread waits, and then calls `done(close_report)`.
  /// Throws std::system_error or std::bad_alloc. If it throws, it has had no effect.
  template <class Done, class Rep, class Period>
  void async_close(Done done, std::chrono::duration<Rep, Period> timeout) {
    refuse_nothing(name(), "the callback", done);
    core_->close_async(deadline::after(timeout), close_completion(std::move(done)));
  }
  template <class Done, unitless Number>
  void async_close(Done, Number) = delete;  // rejects a number without a unit

  /// Returns the name of the pool. The name is valid as long as the pool lives.
  [[nodiscard]] std::string_view name() const noexcept { return core_->settings().pool_name; }
  /// Returns all current leases. Throws std::bad_alloc.
  [[nodiscard]] std::vector<lease_info> leases() const { return core_->reports().leases(); }

 protected:
  /// Creates the core of the pool. Throws std::bad_alloc.
  pool_controls(pool_settings settings, slot_maker make, std::shared_ptr<key_table> keys = nullptr)
      : core_(make_core(std::move(settings), make, std::move(keys))) {
    LIDO_SAME_CONTAINERS();
    LIDO_SAME_STRINGS();
  }
  // Does not call `end`, since a constructor may fail before the core has started.
  ~pool_controls() = default;
  /// Closes the pool. Called first in a pool's destructor.
  void end() noexcept { core_->let_go(); }
  [[nodiscard]] pool_core& core() const noexcept { return *core_; }

 private:
  std::shared_ptr<pool_core> core_;
};

}  // namespace detail

/// Pools at most `max_size` resources. Each is created when it is needed, and lent to one user at a
/// time.
///
/// A thread gets the resource that it had last, if that is idle. Otherwise it gets the idle
/// resource in the lowest position, so that surplus resources stay idle and expire. If no resource
/// is idle, threads, callbacks and coroutines wait in one queue, first in, first out. A thread that
/// is running may overtake these waiters for a moment.
///
/// All functions are thread-safe. Acquiring and releasing an idle, valid resource locks no mutex.
/// Both are wait-free if the thread had that resource last, otherwise lock-free. Every other
/// operation blocks while another thread holds the pool's mutex. No user code runs under that
/// mutex.
///
/// The destructor closes the pool and waits up to `close_timeout` for leases to end. Code that the
/// pool itself calls may drop the last reference to the pool; the destructor then does not wait.
/// Leases that are left stay usable, and destroy their resources when they end. Requires: no other
/// thread is inside a call, except for waiting acquires, which fail. In a forked child, the pool
/// refuses every use and destroys nothing.
template <class R>
class resource_pool : public detail::pool_controls,
                      public detail::acquire_forms<resource_pool<R>, R, /*has_key=*/false> {
 public:
  /// Constructs a pool from a resource_factory. The constructor creates no resource, and starts no
  /// thread unless `min_idle` asks for resources. Throws std::bad_alloc, or a std::invalid_argument
  /// that names the invalid option or the null factory.
  template <class F>
  explicit resource_pool(F factory, const resource_pool_options& options = {})
      : pool_controls(detail::pool_settings(options), &detail::make_slots<R>) {
    core().start(hooks_of(std::move(factory)));
  }
  resource_pool(const resource_pool&) = delete;
  resource_pool& operator=(const resource_pool&) = delete;
  ~resource_pool() { end(); }

  // ---- acquire: see also acquire_forms ----------------------------------------------------------

  /// Acquires as `acquire_for` does, but is served before all waiters that are not urgent. Uses the
  /// reserve if all other resources are in use. Meant for health checks and the like.
  template <class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] resource_lease<R> acquire_urgent(
      std::chrono::duration<Rep, Period> timeout, const std::stop_token& stop = {}) {
    return try_acquire_urgent(timeout, stop).value();
  }
  template <detail::unitless Number>
  resource_lease<R> acquire_urgent(Number, const std::stop_token& = {}) =
      delete;  // rejects a number without a unit
  /// Acquires as `acquire_urgent` does, but returns a failure instead of throwing acquire_error.
  template <class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] acquire_result<R> try_acquire_urgent(
      std::chrono::duration<Rep, Period> timeout, const std::stop_token& stop = {}) noexcept {
    return acquire_result<R>(core().acquire({.until = detail::deadline::after(timeout),
                                             .stop = stop,
                                             .at = detail::code_address::here(),
                                             .is_urgent = true}));
  }
  template <detail::unitless Number>
  acquire_result<R> try_acquire_urgent(Number, const std::stop_token& = {}) =
      delete;  // rejects a number without a unit

  // ---- control: see also pool_controls ----------------------------------------------------------

  /// Destroys all resources that were created so far. Those in use are destroyed when they come
  /// back. With `ongoing_uses::interrupt`, also interrupts their users, as `kill` does. Asks
  /// creates in progress to stop, and begins new creates at once. If it throws std::bad_alloc, it
  /// has had no effect.
  void flush(ongoing_uses uses = ongoing_uses::finish) { core().flush(nullptr, uses); }
  /// Flushes the pool if there has been no flush since the resource of the lease `failed` was
  /// created. So if the connections of many users fail, only one of the users flushes. Returns
  /// false and does nothing if there has been a flush, or if the lease is empty or belongs to
  /// another pool. Throws whatever `flush` throws.
  bool flush(const resource_lease<R>& failed) {
    return core().flush_of(detail::lease_access::grant_of(failed));
  }
  /// Flushes the pool if there has been no flush since `generation()` returned `seen`. Returns
  /// false otherwise.
  bool flush(resource_generation seen) { return core().flush_of(nullptr, seen); }
  /// Returns the current generation, which `flush` compares with `seen`. Call this before the
  /// acquire, or before `with`.
  [[nodiscard]] resource_generation generation() const {
    return core().groups().generation(nullptr);
  }
  /// Flushes the pool, and creates resources with `factory` from now on. Throws std::bad_alloc, or
  /// std::invalid_argument if `factory` is null.
  template <class F>
  void replace_factory(F factory) {
    core().replace_hooks(hooks_of(std::move(factory)));
  }
  /// Sets new limits, each from 0 to 65535. Surplus resources are destroyed as soon as they are
  /// idle. Throws std::bad_alloc, or std::invalid_argument if a limit is above 65535 or `min_idle`
  /// is above `max_size`. If it throws, it has had no effect.
  void resize(std::size_t max_size) { core().resize(max_size, nullptr); }
  /// Sets both limits, under the same conditions as the function above.
  void resize(std::size_t max_size, std::size_t min_idle) { core().resize(max_size, &min_idle); }
  /// Waits until `count` resources are idle, for example after the start of a pool with `min_idle`.
  /// Returns false if `timeout` passes first, or if the pool is closed.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_until_idle(std::size_t count,
                                     std::chrono::duration<Rep, Period> timeout) {
    return core().wait_until_idle(count, detail::deadline::after(timeout));
  }
  template <detail::unitless Number>
  bool wait_until_idle(std::size_t, Number) = delete;  // rejects a number without a unit

  // ---- statistics -------------------------------------------------------------------------------

  /// Returns a snapshot of the statistics. Locks the pool's mutex.
  [[nodiscard]] resource_pool_stats stats() const noexcept { return core().reports().stats(); }
  /// Returns histograms, which occupy 30 KiB. Meant to be called when metrics are scraped, not in a
  /// loop. Throws std::bad_alloc.
  [[nodiscard]] resource_pool_times times() const { return core().reports().times(); }

 private:
  template <class, class, bool>
  friend class detail::acquire_forms;

  template <class F>
  [[nodiscard]] std::shared_ptr<detail::factory_hooks> hooks_of(F factory) const {
    return detail::make_hooks<R>(detail::share_factory<R>(name(), std::move(factory)));
  }

  [[nodiscard, LIDO_ASSERTS]] detail::slot_grant try_last(detail::code_address at) noexcept {
    return core().try_acquire_last(at);
  }
  template <class F>
  decltype(auto) with_key(const F& f) {
    return f(nullptr);
  }
  template <class Result>
  auto awaiter(detail::acquire_call call) {
    return detail::acquire_awaiter<R, Result>(core(), std::move(call));
  }
  [[nodiscard]] resource_pool& kept() noexcept { return *this; }
};

}  // namespace lido::inline v0
