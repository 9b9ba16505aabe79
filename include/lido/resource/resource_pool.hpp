/// @file
/// Public. `resource_pool<R>`: connections and other things that are expensive to create, can fail
/// or expire, and are waited for.
#pragma once

#include <memory>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

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

/// The control functions of pools with keys and without.
class pool_controls {
 public:
  pool_controls(const pool_controls&) = delete;
  pool_controls& operator=(const pool_controls&) = delete;

  /// Destroys a resource: now if it is idle, when it comes back if it is in use. With
  /// `ongoing_uses::interrupt` calls the factory's `interrupt`, if it has one, for a resource in
  /// use, in this thread. Returns false if the resource is gone.
  bool kill(const resource_handle& handle, ongoing_uses uses = ongoing_uses::finish) noexcept {
    return core_->kill(handle, uses);
  }
  /// Makes acquires wait even if resources are idle, and keeps creates from beginning; `resume`
  /// serves the waiters in their order.
  void suspend() noexcept { core_->suspend(/*on=*/true); }
  void resume() noexcept { core_->suspend(/*on=*/false); }
  /// Ends the pause after failed creates: wanted creates are tried now. For programs that learn
  /// that a server is back.
  void retry_now() noexcept { core_->retry_now(); }
  /// Does what is due; a pool without threads does its maintenance only here.
  void tick() noexcept { core_->tick(); }
  /// Switches reports of leases held for long on or off; initially on if the options set a time.
  void watch_leases(bool on) noexcept { core_->watch_leases(on); }
  /// Fails all waiting acquires, destroys idle resources, waits up to `timeout` until the others
  /// have come back, and reports what is left. May be called again. Throws std::bad_alloc if there
  /// is no memory for the report; the pool is closed even then. Code that the pool calls should use
  /// `async_close`: a `close` there waits for its own caller, until `timeout`.
  template <class Rep, class Period>
  close_report close(std::chrono::duration<Rep, Period> timeout) {
    return core_->close(deadline::after(timeout));
  }
  /// Closes the pool without waiting: a separate thread calls `done(close_report)`. Throws
  /// std::system_error or std::bad_alloc; then nothing has happened.
  template <class Done, class Rep, class Period>
  void async_close(Done done, std::chrono::duration<Rep, Period> timeout) {
    refuse_nothing(name(), "the callback", done);
    core_->close_async(deadline::after(timeout), close_completion(std::move(done)));
  }

  /// Returns the name, valid as long as the pool lives.
  [[nodiscard]] std::string_view name() const noexcept { return core_->settings().pool_name; }
  /// Returns all leases at this moment. Throws std::bad_alloc.
  [[nodiscard]] std::vector<lease_info> leases() const { return core_->reports().leases(); }

 protected:
  /// Throws std::bad_alloc.
  pool_controls(pool_settings settings, slot_maker make, std::shared_ptr<key_table> keys = nullptr)
      : core_(make_core(std::move(settings), make, std::move(keys))) {
    LIDO_SAME_CONTAINERS();
    LIDO_SAME_STRINGS();
  }
  ~pool_controls() = default;  // not `end`: a constructor may fail before the core has started
  /// Closes the pool. Called first in a pool's destructor.
  void end() noexcept { core_->let_go(); }
  [[nodiscard]] pool_core& core() const noexcept { return *core_; }

 private:
  std::shared_ptr<pool_core> core_;
};

}  // namespace detail

/// Pools at most `max_size` resources, created when they are needed and lent to one user at a time.
///
/// A thread gets the resource that it had last, if that is idle, otherwise the idle one in the
/// lowest position, so that surplus ones stay idle and expire. If none is idle, threads, callbacks
/// and coroutines wait in one queue, first in, first out. A thread that runs may overtake them for
/// a moment.
///
/// All functions are thread-safe. An acquire and release of an idle, valid resource takes no mutex;
/// it is wait-free if the thread had it last, otherwise lock-free. Everything else blocks while
/// others hold the pool's mutex, under which no user code runs.
///
/// The destructor closes the pool and waits up to `close_timeout` for leases, except in code that
/// the pool itself calls, which may drop the last reference to it. Leases that are still out stay
/// usable, and destroy their resources when they end. Requires: no other thread is in a call,
/// except waiting acquires, which fail. In a forked child the pool refuses use and destroys
/// nothing.
template <class R>
class resource_pool : public detail::pool_controls,
                      public detail::acquire_forms<resource_pool<R>, R, /*has_key=*/false> {
 public:
  /// Makes a pool from a resource_factory. Creates no resource itself, and starts no thread unless
  /// `min_idle` asks for resources. Throws std::invalid_argument that names the wrong option or a
  /// null factory, or std::bad_alloc.
  template <class F>
  explicit resource_pool(F factory, const resource_pool_options& options = {})
      : pool_controls(detail::pool_settings(options), &detail::make_slots<R>) {
    core().start(hooks_of(std::move(factory)));
  }
  resource_pool(const resource_pool&) = delete;
  resource_pool& operator=(const resource_pool&) = delete;
  ~resource_pool() { end(); }

  // ---- acquire: see acquire_forms, too ----------------------------------------------------------

  /// Acquires as `acquire_for` does, but before all waiters that are not urgent, and from the
  /// reserve if all other resources are in use: for health checks and the like.
  template <class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] resource_lease<R> acquire_urgent(
      std::chrono::duration<Rep, Period> timeout, const std::stop_token& stop = {}) {
    return try_acquire_urgent(timeout, stop).value();
  }
  /// Acquires as `acquire_urgent` does, but returns failures.
  template <class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] acquire_result<R> try_acquire_urgent(
      std::chrono::duration<Rep, Period> timeout, const std::stop_token& stop = {}) noexcept {
    return acquire_result<R>(core().acquire({.until = detail::deadline::after(timeout),
                                             .stop = stop,
                                             .at = detail::code_address::here(),
                                             .is_urgent = true}));
  }

  // ---- control: see pool_controls, too ----------------------------------------------------------

  /// Destroys all resources made so far; those in use when they come back. With
  /// `ongoing_uses::interrupt` their users are interrupted, as by `kill`. Creates in progress are
  /// asked to stop, and new ones begin at once. Throws std::bad_alloc; then nothing has happened.
  void flush(ongoing_uses uses = ongoing_uses::finish) { core().flush(nullptr, uses); }
  /// Flushes if there was no flush since the resource of the lease was made, so of many users whose
  /// connections fail, one flushes. Otherwise returns false and does nothing, as for an empty lease
  /// or one of another pool. Throws as `flush`.
  bool flush(const resource_lease<R>& failed) {
    return core().flush_of(detail::lease_access::grant_of(failed));
  }
  /// Flushes if there was no flush since `generation()` returned `seen`. Returns false otherwise.
  bool flush(resource_generation seen) { return core().flush_of(nullptr, seen); }
  /// Returns what `flush` compares. Read it before the acquire, or before `with`.
  [[nodiscard]] resource_generation generation() const {
    return core().groups().generation(nullptr);
  }
  /// Flushes, and creates with `factory` from now on. Throws std::bad_alloc, or
  /// std::invalid_argument if it is null.
  template <class F>
  void replace_factory(F factory) {
    core().replace_hooks(hooks_of(std::move(factory)));
  }
  /// Sets new limits, each 0 to 65535; surplus resources are destroyed as soon as they are idle.
  /// Throws std::invalid_argument (above 65535, min_idle above max_size) or std::bad_alloc; then
  /// nothing has changed.
  void resize(std::size_t max_size) { core().resize(max_size, nullptr); }
  void resize(std::size_t max_size, std::size_t min_idle) { core().resize(max_size, &min_idle); }
  /// Waits until so many resources are idle, as after the start of a pool with `min_idle`. Returns
  /// false if the time is up first, or the pool is closed.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_until_idle(std::size_t count,
                                     std::chrono::duration<Rep, Period> timeout) {
    return core().wait_until_idle(count, detail::deadline::after(timeout));
  }

  // ---- numbers ----------------------------------------------------------------------------------

  [[nodiscard]] resource_pool_stats stats() const noexcept { return core().reports().stats(); }
  /// Returns histograms, of 30 KiB: for a scrape, not for a loop. Throws std::bad_alloc.
  [[nodiscard]] resource_pool_times times() const { return core().reports().times(); }

 private:
  template <class, class, bool>
  friend class detail::acquire_forms;

  template <class F>
  [[nodiscard]] std::shared_ptr<detail::factory_hooks> hooks_of(F factory) const {
    return detail::make_hooks<R>(detail::share_factory<R>(name(), std::move(factory)));
  }

  [[nodiscard]] detail::slot_grant try_last(detail::code_address at) noexcept {
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
