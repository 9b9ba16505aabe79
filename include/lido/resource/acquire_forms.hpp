/// @file
/// Public. The acquire functions that a `resource_pool` and the view of a key share.
#pragma once

#include <exception>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "lido/base/durations.hpp"
#include "lido/base/fail.hpp"
#include "lido/debug/code_address.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/resource/adoption.hpp"
#include "lido/resource/co_acquire.hpp"
#include "lido/resource/lease.hpp"
#include "lido/resource/pool_core.hpp"

namespace lido::inline v0::detail {

/// The acquire functions of a pool or of one key. With a key, each also throws std::bad_alloc, what
/// hashing and comparing keys throws and, if the key is new, what copying it and making its text
/// throws.
///
/// A Derived has `core()`, `try_last(at)`, which takes an idle resource without the mutex, and
/// `with_key(f)`, which calls `f` with the key, or null. Its `awaiter<Result>(call)` and `kept()`
/// stay valid after the call: `kept()` is the pool itself, or a view that has a copy of its key.
template <class Derived, class R, bool has_key>
class acquire_forms {
 public:
  using value_type = R;
  using lease_type = resource_lease<R>;
  using result_type = acquire_result<R>;

  /// Waits up to `acquire_timeout`. Throws acquire_error.
  [[nodiscard, LIDO_FAST_PATH]] lease_type acquire(std::stop_token stop = {}) {
    return acquire_at(code_address::here(), acquire_timeout(), std::move(stop));
  }
  /// Acquires as `acquire` does, with this timeout. If it is not positive, takes what is available
  /// now.
  template <class Rep, class Period>
  [[nodiscard, LIDO_FAST_PATH]] lease_type acquire_for(std::chrono::duration<Rep, Period> timeout,
                                                       std::stop_token stop = {}) {
    return acquire_at(code_address::here(), timeout, std::move(stop));
  }
  /// Acquires as `acquire` does, up to a moment of any clock.
  template <class Clock, class Duration>
  [[nodiscard, LIDO_FAST_PATH]] lease_type acquire_until(
      std::chrono::time_point<Clock, Duration> moment, std::stop_token stop = {}) {
    return acquire_at(code_address::here(), moment, std::move(stop));
  }
  /// Returns an empty lease if no resource is available without waiting for a release. Begins a
  /// create that the limits allow; in a pool without threads runs it. If all idle resources need
  /// validation, waits up to 40 ms; in a pool without threads validates them itself.
  [[nodiscard, LIDO_FAST_PATH]] lease_type try_acquire() noexcept(!has_key) {
    result_type found = try_at(code_address::here(), deadline::after(std::chrono::seconds(0)), {});
    return found ? std::move(found).value() : lease_type();
  }
  /// Takes an idle resource that needs no validation. Returns an empty lease if there is none: no
  /// kind of pool creates, validates or waits in this call. With a key it takes the pool's mutex.
  [[nodiscard, LIDO_ALWAYS_INLINE]] lease_type try_acquire_idle() noexcept(!has_key) {
    const code_address at = code_address::here();
    return self().with_key(
        [&](sought_key* key) { return lease_type(self().core().acquire_idle(at, key)); });
  }
  /// Acquires as `acquire_for` does, but returns failures.
  template <class Rep, class Period>
  [[nodiscard, LIDO_FAST_PATH]] result_type try_acquire_for(
      std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) noexcept(!has_key) {
    return try_at(code_address::here(), deadline_of(timeout), std::move(stop));
  }
  template <class Clock, class Duration>
  [[nodiscard, LIDO_FAST_PATH]] result_type try_acquire_until(
      std::chrono::time_point<Clock, Duration> moment, std::stop_token stop = {}) {
    return try_at(code_address::here(), deadline_of(moment), std::move(stop));
  }

  /// Calls `done(acquire_result<R>)` exactly once, perhaps before it returns. `done` may be
  /// move-only and must not throw. The thread that ends the wait calls it, without locks: one that
  /// releases, stops or closes, or one of the pool. In a pool without threads, timeouts and creates
  /// for callbacks need `tick`. Throws std::bad_alloc, or std::invalid_argument if `done` is null;
  /// then it is not called.
  template <class Done, class Rep, class Period>
  [[LIDO_ALWAYS_INLINE]] void async_acquire(Done done, std::chrono::duration<Rep, Period> timeout,
                                            std::stop_token stop = {}) {
    async_acquire_at(code_address::here(), std::move(done), timeout, std::move(stop));
  }
  template <class Done>
  [[LIDO_ALWAYS_INLINE]] void async_acquire(Done done) {
    async_acquire_at(code_address::here(), std::move(done), acquire_timeout(), {});
  }
  /// Acquires on behalf of another call site, `at`.
  template <class Done, class Rep, class Period>
  void async_acquire_at(code_address at, Done done, std::chrono::duration<Rep, Period> timeout,
                        std::stop_token stop) {
    pool_core& core = self().core();
    self().with_key([&](sought_key* key) {
      core.acquire_async({deadline::after(timeout), std::move(stop), at, key},
                         completion_of<R>(core.settings().pool_name, std::move(done)));
    });
  }

  /// `co_await` gives a lease or throws acquire_error. See `acquire_awaiter`.
  template <class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] auto co_acquire(std::chrono::duration<Rep, Period> timeout,
                                                    std::stop_token stop = {}) {
    return self().template awaiter<lease_type>(
        {deadline::after(timeout), std::move(stop), code_address::here()});
  }
  [[nodiscard, LIDO_ALWAYS_INLINE]] auto co_acquire() { return co_acquire(acquire_timeout()); }
  /// `co_await` gives an acquire_result, and throws no acquire_error.
  template <class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] auto co_try_acquire(std::chrono::duration<Rep, Period> timeout,
                                                        std::stop_token stop = {}) {
    return self().template awaiter<result_type>(
        {deadline::after(timeout), std::move(stop), code_address::here()});
  }

  /// Calls `f(R&)` with a resource acquired for this call, and returns what it returns. Throws what
  /// it throws, and as `acquire`. If `f` throws, the resource is discarded, unless the factory's
  /// `is_clean_after` says that it is clean.
  template <class F>
  [[LIDO_ALWAYS_INLINE]] decltype(auto) with(F&& f) {
    lease_type lease = acquire();
    return note_exception([&]() -> decltype(auto) { return std::forward<F>(f)(*lease); },
                          [&](const std::exception& thrown) {
                            pool_slot& slot = *lease.grant_.slot;
                            if (slot.maker->is_clean_after(slot, thrown)) {
                              lease.keep();
                            }
                          });
  }

  /// Does what `with` does in a coroutine: `f(R&)` returns something to `co_await`, and this
  /// returns the same type. Also discards the resource if the coroutine is destroyed while it is
  /// suspended.
  template <class F>
  auto co_with(F f) -> std::invoke_result_t<F&, R&> {
    return use_in_coroutine<decltype(keep())>(keep(), std::move(f));
  }

  /// Gives the pool a resource that it did not make, or that left it by `detach`. From now on it is
  /// used, validated, reset and destroyed like others, and counts as created. Returns false, and
  /// leaves `resource` unchanged, if the pool is full or closed. Throws what moving an R throws. A
  /// resource that was detached before a flush and is adopted after it has the new generation: the
  /// flush does not destroy it.
  [[nodiscard]] bool adopt(R&& resource) {
    return self().with_key([&](sought_key* key) {
      adoption adopted(self().core(), key);
      if (adopted.slot() == nullptr) {
        return false;
      }
      ::new (static_cast<typed_pool_slot<R>*>(adopted.slot())->storage()) R(std::move(resource));
      adopted.fill();
      return true;
    });
  }

  /// Returns the default timeout of `acquire`.
  [[nodiscard]] std::chrono::nanoseconds acquire_timeout() const noexcept {
    return static_cast<const Derived&>(*this).core().settings().acquire_timeout;
  }

  /// Returns what library code may keep after the call: see `kept` above.
  [[nodiscard]] friend decltype(auto) kept_for_later(acquire_forms& from) { return from.keep(); }

 protected:
  acquire_forms() noexcept = default;
  acquire_forms(const acquire_forms&) noexcept = default;
  acquire_forms(acquire_forms&&) noexcept = default;
  acquire_forms& operator=(const acquire_forms&) noexcept = default;
  acquire_forms& operator=(acquire_forms&&) noexcept = default;
  ~acquire_forms() = default;

 private:
  [[nodiscard]] Derived& self() noexcept { return static_cast<Derived&>(*this); }
  [[nodiscard]] decltype(auto) keep() { return self().kept(); }

  /// Reads the clock only if it has to wait. Inlined so that a view stays in registers.
  template <class When>
  [[LIDO_FAST_PATH]] lease_type acquire_at(code_address at, When when, std::stop_token stop) {
    const slot_grant last = stop.stop_requested() ? slot_grant{} : self().try_last(at);
    return last.slot != nullptr ? lease_type(last)
                                : acquire_slow(at, deadline_of(when), std::move(stop)).value();
  }
  [[LIDO_FAST_PATH]] result_type try_at(code_address at, const deadline& until,
                                        std::stop_token stop) {
    const slot_grant last = stop.stop_requested() ? slot_grant{} : self().try_last(at);
    return last.slot != nullptr ? result_type(acquire_outcome{.grant = last, .why = nullptr})
                                : acquire_slow(at, until, std::move(stop));
  }
  [[LIDO_SLOW_PATH]] result_type acquire_slow(code_address at, const deadline& until,
                                              std::stop_token stop) {
    return self().with_key([&](sought_key* key) {
      return result_type(self().core().acquire({until, std::move(stop), at, key}));
    });
  }

  /// Static, as a view may be destroyed before the coroutine resumes.
  template <class From, class F>
  static auto use_in_coroutine(From from, F f) -> std::invoke_result_t<F&, R&> {
    lease_type lease = co_await from.co_acquire();
    lease.discard_unless_kept();
    if constexpr (returns_nothing<std::invoke_result_t<F&, R&>, From, F>) {
      co_await f(*lease);
      lease.keep();
    } else {
      auto result = co_await f(*lease);
      lease.keep();
      co_return result;
    }
  }
};

}  // namespace lido::inline v0::detail
