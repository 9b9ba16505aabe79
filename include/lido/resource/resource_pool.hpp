/// @file
/// Public. `resource_pool<R>`: connections and other things that are dear to make, can break and
/// age, and are waited for.
#pragma once

#include <chrono>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/meeting.hpp"
#include "lido/resource/acquire_error.hpp"
#include "lido/resource/factory.hpp"
#include "lido/resource/factory_shapes.hpp"
#include "lido/resource/options.hpp"
#include "lido/resource/resource_lease.hpp"
#include "lido/resource/resource_short_way.hpp"
#include "lido/resource/stats.hpp"
#include "lido/resource/typed_hooks.hpp"
#include "lido/resource/with_lease.hpp"

namespace lido {

/// At most `max_size` resources, made when they are needed, lent to one user at a time.
///
/// A thread gets the resource that it had last, if that is idle, otherwise the idle one in the
/// lowest place, so that surplus ones grow old. If none is idle, acquires wait: threads, callbacks
/// and coroutines in one queue, first come, first served. A resource that comes back is handed to
/// the first of them; who comes later does not overtake, unless `overtake_for` lets it.
///
/// All functions are thread-safe. An acquire and release of an idle, valid resource takes no mutex
/// and is wait-free if the thread had it last, otherwise lock-free; with a factory that has
/// `reset`, that runs in between. Everything else blocks for as long as others hold the pool's
/// mutex, under which no user code runs.
///
/// Not movable. The destructor closes the pool and waits up to `close_timeout` for leases; those
/// that are still out then stay usable, and destroy their resources when they end. Requires: no
/// other thread is in a call, but for waiting acquires, which get an error. Pools do not survive a
/// fork.
template <class R>
class resource_pool {
 public:
  using value_type = R;
  using lease_type = resource_lease<R>;

  /// Throws std::invalid_argument that names the wrong option, or a factory that is null;
  /// std::bad_alloc; or std::system_error if a thread cannot be started. Makes no resource itself.
  template <resource_factory<R> F>
  explicit resource_pool(F factory, const resource_pool_options& options = {})
      : core_(std::make_shared<detail::resource_core>(detail::pool_settings(options),
                                                      hooks_of(options.name, std::move(factory)),
                                                      &detail::typed_block<R>::make)) {
    core_->start();
  }
  /// Does not compile, and says what a factory is; so std::is_constructible is of no use here.
  template <class F>
    requires(!resource_factory<F, R>)
  explicit resource_pool(F /*factory*/, const resource_pool_options& /*options*/ = {}) {
    (void)detail::factory_without_create<F>();
  }

  resource_pool(const resource_pool&) = delete;
  resource_pool& operator=(const resource_pool&) = delete;
  ~resource_pool() {
    (void)core_->end(detail::deadline::after(core_->settings().close_timeout));
    core_->let_go();
  }

  // ---- acquire ----------------------------------------------------------------------------------

  /// Waits up to `acquire_timeout`. Throws acquire_error, std::bad_alloc.
  [[nodiscard, gnu::always_inline]] lease_type acquire() {
    return acquire_at(detail::place::here(), core_->settings().acquire_timeout, {});
  }

  /// As `acquire`, and gives up as soon as `stop` is asked to stop, or with the end of the call of
  /// `validate`, or by callers `create`, that it is in.
  [[nodiscard, gnu::always_inline]] lease_type acquire(std::stop_token stop) {
    return acquire_at(detail::place::here(), core_->settings().acquire_timeout, std::move(stop));
  }

  /// As `acquire`, with a time of its own. Not positive: what can be had now.
  template <class Rep, class Period>
  [[nodiscard, gnu::always_inline]] lease_type acquire_for(
      std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), timeout, std::move(stop));
  }

  /// As `acquire`, up to a moment of any clock.
  template <class Clock, class Duration>
  [[nodiscard, gnu::always_inline]] lease_type acquire_until(
      std::chrono::time_point<Clock, Duration> moment, std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), moment, std::move(stop));
  }

  /// An empty lease if no resource is idle, or others wait who may not be overtaken. Waits for no
  /// release. One that the pool may make is begun; with `maintenance::by_callers` made here.
  [[nodiscard, gnu::always_inline]] lease_type try_acquire() noexcept {
    return try_acquire_at(detail::place::here());
  }

  /// Calls `done(lease_type, std::exception_ptr)` exactly once, perhaps before it returns: with a
  /// lease, or with an acquire_error (or std::bad_alloc if there is no memory for one). `done` must
  /// be copyable and not throw, and is called without locks by whoever ends the wait: who releases
  /// a resource, stops the token, closes the pool, or a thread of the pool. If it gives back what
  /// it got, the next may be called by the same thread, after it has returned; but one that asks
  /// again while something is idle is served within that call, so a chain of these must end.
  /// Time-outs need `maintenance::background`, or ticks; with neither the factory may be called by
  /// who releases, and here, also for other callbacks, while the time is not over. Throws
  /// std::bad_alloc, or std::invalid_argument if `done` is null; then it is not called.
  template <class Done, class Rep, class Period>
  [[gnu::always_inline]] void async_acquire(Done done, std::chrono::duration<Rep, Period> timeout,
                                            std::stop_token stop = {}) {
    async_acquire_at(detail::place::here(), std::move(done), timeout, std::move(stop));
  }
  /// The same, up to `acquire_timeout` of the options.
  template <class Done>
  [[gnu::always_inline]] void async_acquire(Done done) {
    async_acquire_at(detail::place::here(), std::move(done), core_->settings().acquire_timeout, {});
  }
  /// For who calls it on behalf of another place.
  template <class Done, class Rep, class Period>
  void async_acquire_at(detail::place at, Done done, std::chrono::duration<Rep, Period> timeout,
                        std::stop_token stop) {
    static_assert(
        std::is_copy_constructible_v<Done>,
        "lido: the callback of async_acquire must be copyable: it is kept in a std::function");
    static_assert(std::is_invocable_v<Done&, lease_type, std::exception_ptr>,
                  "lido: the callback of async_acquire is called with (lease_type, "
                  "std::exception_ptr), in this order");
    detail::refuse_nothing(name(), "the callback", done);
    core_->take_async({detail::deadline::after(timeout), std::move(stop), at},
                      [done = std::move(done)](const detail::resource_grant& grant,
                                               std::exception_ptr error) mutable {
                        done(lease_type(grant), std::move(error));
                      });
  }

  /// `co_await pool.co_acquire()` gives a lease or throws acquire_error or std::bad_alloc. The
  /// coroutine goes on in the thread that ends the wait, see async_acquire, or in its own if the
  /// wait ends before it is suspended. It may be destroyed while it waits, but not beside that
  /// thread and not before it is suspended: what it would have been given goes back.
  template <class Rep, class Period>
  [[nodiscard, gnu::always_inline]] auto co_acquire(std::chrono::duration<Rep, Period> timeout,
                                                    std::stop_token stop = {}) {
    const auto patience = detail::deadline::bounded(timeout);
    return awaiter{*this, detail::place::here(), patience, std::move(stop), {}, {}, {}};
  }
  /// The same, up to `acquire_timeout` of the options.
  [[nodiscard, gnu::always_inline]] auto co_acquire() {
    return co_acquire(core_->settings().acquire_timeout);
  }

  /// Calls `f(R&)` with a resource of its own; returns what it returns. Throws what it throws, and
  /// as `acquire`. A resource that `f` has left with an exception is discarded.
  template <class F>
  [[gnu::always_inline]] decltype(auto) with(F&& f) {
    return detail::with_lease(acquire(), std::forward<F>(f));
  }

  // ---- control ----------------------------------------------------------------------------------

  /// Ends a resource: now if it is idle, when it comes back if it is in use. False: it is gone.
  bool kill(const resource_handle& handle) noexcept { return core_->kill(handle); }

  /// Ends all resources made so far: those in use when they come back.
  void flush() noexcept { core_->flush(); }

  /// From now on `factory` makes resources; all that are there are flushed, and ended by the one
  /// that made them. Creates of the one before are told to stop, and do not count against
  /// max_creating any more. Factories live as long as the pool. Throws std::bad_alloc, or
  /// std::invalid_argument if it is null.
  template <resource_factory<R> F>
  void replace_factory(F factory) {
    core_->replace_hooks(hooks_of(name(), std::move(factory)));
  }
  /// Does not compile, and says what a factory is.
  template <class F>
    requires(!resource_factory<F, R>)
  void replace_factory(F /*factory*/) { (void)detail::factory_without_create<F>(); }

  /// New limits, each 0 to 65535; min_idle stays as it was unless it is given, within max_size.
  /// What is too many goes when it is idle. Throws std::invalid_argument (above 65535, min_idle
  /// above max_size), std::bad_alloc; then nothing has changed.
  void resize(std::size_t max_size) { core_->resize(max_size, std::nullopt); }
  void resize(std::size_t max_size, std::size_t min_idle) { core_->resize(max_size, min_idle); }

  /// From now on acquires wait, though resources are idle; `resume` serves them in their order.
  void suspend() noexcept { core_->suspend(); }
  void resume() noexcept { core_->resume(); }

  /// Counts time, and does what is due: with `maintenance::by_tick` all that the pool does.
  void tick() { core_->tick(); }

  /// Whether leases held for long are reported; on from the start where the options set a time.
  void watch_leases(bool on) noexcept { core_->watch_leases(on); }

  /// Refuses and wakes all who wait, ends idle resources, waits up to `timeout` until the others
  /// have come back, and says what is left. May be called again. Throws std::bad_alloc if there is
  /// no memory for what it says; the pool is closed then, too. Leases that are out for too long are
  /// reported afterwards by ticks alone. Requires: not called by user code that the pool calls.
  template <class Rep, class Period>
  close_report close(std::chrono::duration<Rep, Period> timeout) {
    return core_->close(detail::deadline::after(timeout));
  }

  // ---- numbers ----------------------------------------------------------------------------------

  [[nodiscard]] const std::string& name() const noexcept { return core_->settings().name; }
  /// Of an acquire that is given no time of its own.
  [[nodiscard]] std::chrono::nanoseconds acquire_timeout() const noexcept {
    return core_->settings().acquire_timeout;
  }
  [[nodiscard]] resource_pool_stats stats() const { return core_->stats(); }
  /// Who has a resource just now. Throws std::bad_alloc.
  [[nodiscard]] std::vector<lease_info> leases() const { return core_->leases(); }

 private:
  struct awaiter;
  /// From a callback in the queue to what it is for.
  struct lifeline {
    explicit lifeline(awaiter* from) noexcept : waiting(from) {}
    detail::atomic<awaiter*> waiting;  ///< null once it has gone
    /// Of the callback and who is about to suspend the coroutine the second one goes on with it, so
    /// that of callbacks that come at once none is called inside the one before.
    detail::meeting both;
  };
  /// Has a part of the source, which may otherwise go while it is stopping.
  struct stop_wait {
    std::stop_source end;
    void operator()() const noexcept {
      const std::stop_source kept = end;
      (void)kept.request_stop();
    }
  };
  // NOLINTNEXTLINE(*-special-member-functions): an aggregate that stays where it is made
  struct awaiter {
    resource_pool& pool;
    detail::place at;
    std::chrono::nanoseconds timeout;
    std::stop_token stop;
    lease_type lease;
    std::exception_ptr error;
    std::shared_ptr<lifeline> line;
    std::stop_source end{std::nostopstate};  ///< of the wait: as `stop` says, or with the coroutine
    std::optional<std::stop_callback<stop_wait>> on_stop = std::nullopt;

    ~awaiter() {
      // relaxed: what a callback finds here it may not touch
      if (line != nullptr &&
          line->waiting.exchange(nullptr, std::memory_order_relaxed) != nullptr) {
        (void)end.request_stop();  // nobody waits any more: others come sooner
      }
    }

    [[nodiscard]] bool await_ready() noexcept {
      if (!stop.stop_requested()) {
        lease = lease_type(pool.core_->take_last(at));
      }
      return static_cast<bool>(lease);
    }
    bool await_suspend(std::coroutine_handle<> coroutine) {
      line = std::make_shared<lifeline>(this);
      end = std::stop_source();
      on_stop.emplace(stop, stop_wait{end});
      const std::shared_ptr<lifeline> mine = line;  // the awaiter may be gone at the end
      pool.async_acquire_at(
          at,
          [line = line, coroutine](lease_type got, const std::exception_ptr& why) {
            // relaxed: the awaiter was there before the callback
            awaiter* const self = line->waiting.exchange(nullptr, std::memory_order_relaxed);
            if (self == nullptr) {
              return;  // with the lease
            }
            self->lease = std::move(got);
            self->error = why;
            if (line->both.comes_second()) {
              coroutine.resume();
            }
          },
          timeout, end.get_token());
      return !mine->both.comes_second();
    }
    [[nodiscard]] lease_type await_resume() {
      if (error) {
        std::rethrow_exception(error);
      }
      return std::move(lease);
    }
  };

  template <class F>
  static std::shared_ptr<detail::resource_hooks> hooks_of(std::string_view pool, F factory) {
    (void)detail::fitting_factory<F, R, !detail::is_create_function<F, R>>();
    detail::refuse_nothing(pool, "the factory", factory);
    return std::make_shared<detail::typed_hooks<R, F>>(std::move(factory));
  }

  /// The clock is read only if there is something to wait for.
  template <class When>
  lease_type acquire_at(detail::place at, When when, std::stop_token stop) {
    if (!stop.stop_requested()) [[likely]] {
      const detail::resource_grant last = core_->take_last(at);
      if (last.slot != nullptr) [[likely]] {
        return lease_type(last);
      }
    }
    return lease_type(core_->take({detail::deadline::of(when), std::move(stop), at}));
  }

  lease_type try_acquire_at(detail::place at) noexcept {
    const detail::resource_grant last = core_->take_last(at);
    return lease_type(last.slot != nullptr ? last
                                           : core_->take_now({.until = {}, .stop = {}, .at = at}));
  }

  std::shared_ptr<detail::resource_core> core_;
};

}  // namespace lido
