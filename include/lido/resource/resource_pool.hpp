/// @file
/// Public. `resource_pool<R>`: connections and other things that are expensive to create, can fail
/// or expire, and are waited for.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "lido/base/exceptions_agree.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/resource/co_acquire.hpp"
#include "lido/resource/factory.hpp"
#include "lido/resource/lease.hpp"
#include "lido/resource/options.hpp"

namespace lido::inline v0 {

namespace detail {

/// What users do with pools with keys and without.
class pool_controls {
 public:
  pool_controls(const pool_controls&) = delete;
  pool_controls& operator=(const pool_controls&) = delete;

  /// Ends a resource: now if it is idle, when it comes back if it is in use. False: it is gone.
  bool kill(const resource_handle& handle) noexcept { return core_->kill(handle); }
  /// From now on acquires wait, though resources are idle; `resume` serves them in their order.
  void suspend() noexcept { core_->suspend(/*on=*/true); }
  void resume() noexcept { core_->suspend(/*on=*/false); }
  /// Does what is due; all that the pool does, in a pool without threads.
  void tick() noexcept { core_->tick(); }
  /// Whether leases held for long are reported; on from the start where the options set a time.
  void watch_leases(bool on) noexcept { core_->watch_leases(on); }
  /// Fails all waiting acquires, ends idle resources, waits up to `timeout` until the others have
  /// come back, and says what is left. May be called again. Throws std::bad_alloc if there is no
  /// memory for the report; the pool is closed then, too. Not by code that the pool calls.
  template <class Rep, class Period>
  close_report close(std::chrono::duration<Rep, Period> timeout) {
    return core_->close(deadline::after(timeout));
  }
  /// The same without waiting: a thread of its own calls `done(close_report)`. Throws
  /// std::system_error or std::bad_alloc; then nothing has happened.
  template <class Done, class Rep, class Period>
  void async_close(Done done, std::chrono::duration<Rep, Period> timeout) {
    refuse_nothing(name(), "the callback", done);
    core_->close_async(deadline::after(timeout), close_completion(std::move(done)));
  }

  /// Lives as long as the pool.
  [[nodiscard]] std::string_view name() const noexcept { return core_->settings().pool_name; }
  /// All leases at this moment. Throws std::bad_alloc.
  [[nodiscard]] std::vector<lease_info> leases() const { return core_->leases(); }

 protected:
  /// Throws std::bad_alloc.
  pool_controls(pool_settings settings, slot_maker make, std::unique_ptr<key_table> keys = nullptr)
      : core_(std::make_shared<pool_core>(std::move(settings), make, std::move(keys))) {
    LIDO_SAME_CONTAINERS();
    LIDO_SAME_STRINGS();
  }
  ~pool_controls() = default;  // not `end`: a constructor may fail before the core has started
  /// First of all in a pool's destructor.
  void end() noexcept {
    core_->let_go();
    core_.reset();
  }
  [[nodiscard]] pool_core& core() const noexcept { return *core_; }

 private:
  std::shared_ptr<pool_core> core_;
};

}  // namespace detail

/// At most `max_size` resources, created when they are needed, lent to one user at a time.
///
/// A thread gets the resource that it had last, if that is idle, otherwise the idle one in the
/// lowest place, so that surplus ones grow old. If none is idle, threads, callbacks and coroutines
/// wait in one queue. A resource that comes back is handed to the first of them.
///
/// All functions are thread-safe. An acquire and release of an idle, valid resource takes no mutex;
/// it is wait-free if the thread had it last, otherwise lock-free. Everything else blocks while
/// others hold the pool's mutex, under which no user code runs.
///
/// The destructor closes the pool and waits up to `close_timeout` for leases; those that are still
/// out stay usable, and destroy their resources when they end. Requires: no other thread is in a
/// call, except waiting acquires, which fail. In a forked child the pool refuses use and ends
/// nothing.
template <class R>
class resource_pool : public detail::pool_controls {
 public:
  using value_type = R;
  using lease_type = resource_lease<R>;
  using result_type = acquire_result<R>;

  /// F: a resource_factory. Throws std::invalid_argument that names the wrong option, or a factory
  /// that is null; std::bad_alloc; std::system_error if a thread cannot be started. Creates no
  /// resource itself.
  template <class F>
  explicit resource_pool(F factory, const resource_pool_options& options = {})
      : pool_controls(detail::pool_settings(options), &detail::make_slots<R>) {
    core().start(hooks_of(std::move(factory)));
  }
  resource_pool(const resource_pool&) = delete;
  resource_pool& operator=(const resource_pool&) = delete;
  ~resource_pool() { end(); }

  // ---- acquire ----------------------------------------------------------------------------------

  /// Waits up to `acquire_timeout`. Throws acquire_error.
  [[nodiscard, LIDO_ALWAYS_INLINE]] lease_type acquire(std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), core().settings().acquire_timeout, std::move(stop));
  }
  /// As `acquire`, with a timeout of its own. Not positive: what can be had now.
  template <class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] lease_type acquire_for(
      std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), timeout, std::move(stop));
  }
  /// As `acquire`, up to a moment of any clock.
  template <class Clock, class Duration>
  [[nodiscard, LIDO_ALWAYS_INLINE]] lease_type acquire_until(
      std::chrono::time_point<Clock, Duration> moment, std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), moment, std::move(stop));
  }
  /// An empty lease if no resource can be had without waiting for a release. One that the pool may
  /// create is begun; in a pool without threads it is created here. If all idle ones have to be
  /// validated, waits up to 40 ms; in a pool without threads it validates them itself.
  [[nodiscard, LIDO_ALWAYS_INLINE]] lease_type try_acquire() noexcept {
    result_type found =
        try_at(detail::place::here(), detail::deadline::after(std::chrono::seconds(0)), {});
    return found ? std::move(found).value() : lease_type();
  }
  /// As `acquire_for`, but failures are returned.
  template <class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] result_type try_acquire_for(
      std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) noexcept {
    return try_at(detail::place::here(), detail::deadline_of(timeout), std::move(stop));
  }
  template <class Clock, class Duration>
  [[nodiscard, LIDO_ALWAYS_INLINE]] result_type try_acquire_until(
      std::chrono::time_point<Clock, Duration> moment, std::stop_token stop = {}) {
    return try_at(detail::place::here(), detail::deadline_of(moment), std::move(stop));
  }

  /// As `acquire_for`, before all waiters that are not urgent, with a resource of the reserve if
  /// all others are in use: for health checks and the like.
  template <class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] lease_type acquire_urgent(
      std::chrono::duration<Rep, Period> timeout, const std::stop_token& stop = {}) {
    return try_acquire_urgent(timeout, stop).value();
  }
  /// The same, but failures are returned.
  template <class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] result_type try_acquire_urgent(
      std::chrono::duration<Rep, Period> timeout, const std::stop_token& stop = {}) noexcept {
    return result_type(core().acquire({.until = detail::deadline::after(timeout),
                                       .stop = stop,
                                       .at = detail::place::here(),
                                       .is_urgent = true}));
  }

  /// Calls `done(acquire_result<R>)` exactly once, perhaps before it returns. `done` may be
  /// move-only and must not throw. The thread that ends the wait calls it, without locks: one that
  /// releases, stops or closes, or one of the pool. In a pool without threads, timeouts and creates
  /// for callbacks need `tick`. Throws std::bad_alloc, or std::invalid_argument if `done` is null;
  /// then it is not called.
  template <class Done, class Rep, class Period>
  [[LIDO_ALWAYS_INLINE]] void async_acquire(Done done, std::chrono::duration<Rep, Period> timeout,
                                            std::stop_token stop = {}) {
    async_acquire_at(detail::place::here(), std::move(done), timeout, std::move(stop));
  }
  template <class Done>
  [[LIDO_ALWAYS_INLINE]] void async_acquire(Done done) {
    async_acquire_at(detail::place::here(), std::move(done), acquire_timeout(), {});
  }
  /// On behalf of another place in the code.
  template <class Done, class Rep, class Period>
  void async_acquire_at(detail::place at, Done done, std::chrono::duration<Rep, Period> timeout,
                        std::stop_token stop) {
    core().acquire_async({detail::deadline::after(timeout), std::move(stop), at},
                         detail::completion_of<R>(name(), std::move(done)));
  }

  /// `co_await` gives a lease or throws acquire_error. See `acquire_awaiter`.
  template <class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] auto co_acquire(std::chrono::duration<Rep, Period> timeout,
                                                    std::stop_token stop = {}) {
    return detail::acquire_awaiter<R, lease_type>(
        core(), {detail::deadline::after(timeout), std::move(stop), detail::place::here()});
  }
  [[nodiscard, LIDO_ALWAYS_INLINE]] auto co_acquire() {
    return co_acquire(core().settings().acquire_timeout);
  }
  /// The same with an acquire_result.
  template <class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] auto co_try_acquire(std::chrono::duration<Rep, Period> timeout,
                                                        std::stop_token stop = {}) {
    return detail::acquire_awaiter<R, result_type>(
        core(), {detail::deadline::after(timeout), std::move(stop), detail::place::here()});
  }

  /// Calls `f(R&)` with a resource of its own; returns what it returns. Throws what it throws, and
  /// as `acquire`. A resource that `f` has left with an exception is discarded.
  template <class F>
  [[LIDO_ALWAYS_INLINE]] decltype(auto) with(F&& f) {
    const lease_type lease = acquire();
    return std::forward<F>(f)(*lease);
  }

  /// The same for coroutines: `f(R&)` returns something to `co_await`, whose coroutine type this
  /// has, too. A resource is also discarded if the coroutine is destroyed while it is suspended.
  template <class F>
  auto co_with(F f) -> std::invoke_result_t<F&, R&> {
    lease_type lease = co_await co_acquire();
    lease.discard_unless_kept();
    if constexpr (detail::returns_nothing<std::invoke_result_t<F&, R&>, resource_pool&, F>) {
      co_await f(*lease);
      lease.keep();
    } else {
      auto result = co_await f(*lease);
      lease.keep();
      co_return result;
    }
  }

  // ---- control: see pool_controls, too ----------------------------------------------------------

  /// Ends all resources made so far: those in use when they come back. Creates under way are asked
  /// to stop, and new ones begin at once. Throws std::bad_alloc; then nothing has happened.
  void flush() { core().flush(); }
  /// As `flush`; from now on `factory` creates. Throws std::bad_alloc, or std::invalid_argument if
  /// it is null.
  template <class F>
  void replace_factory(F factory) {
    core().replace_hooks(hooks_of(std::move(factory)));
  }
  /// New limits, each 0 to 65535; surplus resources end as soon as they are idle. Throws
  /// std::invalid_argument (above 65535, min_idle above max_size), std::bad_alloc; then nothing has
  /// changed.
  void resize(std::size_t max_size) { core().resize(max_size, std::nullopt); }
  void resize(std::size_t max_size, std::size_t min_idle) { core().resize(max_size, min_idle); }
  /// Waits until so many resources are idle, as after the start of a pool with `min_idle`. False:
  /// the time was up first, or the pool is closed.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_until_idle(std::size_t count,
                                     std::chrono::duration<Rep, Period> timeout) {
    return core().wait_until_idle(count, detail::deadline::after(timeout));
  }

  // ---- numbers ----------------------------------------------------------------------------------

  /// The default timeout of `acquire`.
  [[nodiscard]] std::chrono::nanoseconds acquire_timeout() const noexcept {
    return core().settings().acquire_timeout;
  }
  [[nodiscard]] resource_pool_stats stats() const noexcept { return core().stats(); }
  /// Histograms, of 30 KiB: for a scrape, not for a loop. Throws std::bad_alloc.
  [[nodiscard]] resource_pool_times times() const { return core().times(); }

 private:
  template <class F>
  [[nodiscard]] std::shared_ptr<detail::factory_hooks> hooks_of(F factory) const {
    return detail::make_hooks<R>(detail::share_factory<R>(name(), std::move(factory)));
  }

  /// The clock is read only if there is something to wait for.
  template <class When>
  lease_type acquire_at(detail::place at, When when, std::stop_token stop) {
    if (!stop.stop_requested()) [[likely]] {
      const detail::slot_grant last = core().try_acquire_fast(at);
      if (last.slot != nullptr) [[likely]] {
        return lease_type(last);
      }
    }
    return result_type(core().acquire({detail::deadline_of(when), std::move(stop), at})).value();
  }
  result_type try_at(detail::place at, const detail::deadline& until, std::stop_token stop) {
    const detail::slot_grant last =
        stop.stop_requested() ? detail::slot_grant{} : core().try_acquire_fast(at);
    return last.slot != nullptr
               ? result_type(detail::acquire_outcome{.grant = last, .why = nullptr})
               : result_type(core().acquire({until, std::move(stop), at}));
  }
};

}  // namespace lido::inline v0
