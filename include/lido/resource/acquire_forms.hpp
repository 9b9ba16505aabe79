/// @file
/// Public. The acquire functions that `resource_pool` and `key_view` share.
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

/// The acquire functions of a pool or of one key. Those of a key also throw std::bad_alloc and
/// whatever hashing or comparing keys throws. If the key is new, they also throw whatever copying
/// the key or converting it to text throws.
///
/// Derived provides `core()`, `try_last(at)` and `with_key(f)`. `try_last` takes an idle resource
/// without the mutex. `with_key` calls `f` with the key, or with null in a pool without keys.
/// Derived also provides `awaiter<Result>(call)` and `kept()`, whose results stay valid after the
/// acquire function has returned. `kept()` returns the pool itself, or a view that owns a copy of
/// its key.
template <class Derived, class R, bool has_key>
class acquire_forms {
 public:
  using value_type = R;
  /// Type of the leases.
  using lease_type = resource_lease<R>;
  /// Type of the results of acquires that do not throw.
  using result_type = acquire_result<R>;

  /// Acquires a resource, and waits for one up to `acquire_timeout`. Throws acquire_error.
  [[nodiscard, LIDO_FAST_PATH]] lease_type acquire(std::stop_token stop = {}) {
    return acquire_at(code_address::here(), acquire_timeout(), std::move(stop));
  }
  /// Acquires as `acquire` does, but waits up to `timeout`. If `timeout` is not positive, acquires
  /// only what is available now.
  template <class Rep, class Period>
  [[nodiscard, LIDO_FAST_PATH]] lease_type acquire_for(std::chrono::duration<Rep, Period> timeout,
                                                       std::stop_token stop = {}) {
    return acquire_at(code_address::here(), timeout, std::move(stop));
  }
  template <unitless Number>
  lease_type acquire_for(Number, std::stop_token = {}) = delete;  // rejects a number without a unit
  /// Acquires as `acquire` does, but waits until `moment`, a time point of any clock.
  template <class Clock, class Duration>
  [[nodiscard, LIDO_FAST_PATH]] lease_type acquire_until(
      std::chrono::time_point<Clock, Duration> moment, std::stop_token stop = {}) {
    return acquire_at(code_address::here(), moment, std::move(stop));
  }
  /// Acquires a resource without waiting for a release. Returns an empty lease if none is
  /// available. Begins a create if the limits allow one. If all idle resources need validation,
  /// waits up to 40 ms until one has been validated. In a pool without threads, this call runs the
  /// create or the validations itself.
  [[nodiscard, LIDO_FAST_PATH]] lease_type try_acquire() noexcept(!has_key) {
    result_type found = try_at(code_address::here(), deadline::after(std::chrono::seconds(0)), {});
    return found ? std::move(found).value() : lease_type();
  }
  /// Acquires an idle resource that needs no validation. Returns an empty lease if there is none.
  /// Never creates, validates or waits, in any kind of pool. With a key, locks the pool's mutex.
  [[nodiscard, LIDO_ALWAYS_INLINE]] lease_type try_acquire_idle() noexcept(!has_key) {
    const code_address at = code_address::here();
    return self().with_key(
        [&](sought_key* key) { return lease_type(self().core().acquire_idle(at, key)); });
  }
  /// Acquires as `acquire_for` does, but returns a failure instead of throwing acquire_error.
  template <class Rep, class Period>
  [[nodiscard, LIDO_FAST_PATH]] result_type try_acquire_for(
      std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) noexcept(!has_key) {
    return try_at(code_address::here(), deadline_of(timeout), std::move(stop));
  }
  template <unitless Number>
  result_type try_acquire_for(Number,
                              std::stop_token = {}) = delete;  // rejects a number without a unit
  /// Acquires as `acquire_until` does, but returns a failure instead of throwing acquire_error.
  template <class Clock, class Duration>
  [[nodiscard, LIDO_FAST_PATH]] result_type try_acquire_until(
      std::chrono::time_point<Clock, Duration> moment, std::stop_token stop = {}) {
    return try_at(code_address::here(), deadline_of(moment), std::move(stop));
  }

  /// Acquires a resource for a callback. Calls `done(acquire_result<R>)` exactly once, perhaps
  /// before this function returns. `done` may be move-only and must not throw. The thread that ends
  /// the wait calls `done` without holding any lock. This thread belongs to the pool, or is one
  /// that releases a resource, requests a stop or closes the pool. In a pool without threads,
  /// callbacks depend on `tick` for timeouts and creates. Throws std::bad_alloc, or
  /// std::invalid_argument if `done` is null. If it throws, it does not call `done`.
  template <class Done, class Rep, class Period>
  [[LIDO_ALWAYS_INLINE]] void async_acquire(Done done, std::chrono::duration<Rep, Period> timeout,
                                            std::stop_token stop = {}) {
    async_acquire_at(code_address::here(), std::move(done), timeout, std::move(stop));
  }
  template <class Done, unitless Number>
  void async_acquire(Done, Number,
                     std::stop_token = {}) = delete;  // rejects a number without a unit
  /// Acquires a resource for a callback, with the pool's `acquire_timeout`.
  template <class Done>
  [[LIDO_ALWAYS_INLINE]] void async_acquire(Done done) {
    async_acquire_at(code_address::here(), std::move(done), acquire_timeout(), {});
  }
  /// Acquires on behalf of the call site `at`.
  template <class Done, class Rep, class Period>
  void async_acquire_at(code_address at, Done done, std::chrono::duration<Rep, Period> timeout,
                        std::stop_token stop) {
    pool_core& core = self().core();
    self().with_key([&](sought_key* key) {
      core.acquire_async({deadline::after(timeout), std::move(stop), at, key},
                         completion_of<R>(core.settings().pool_name, std::move(done)));
    });
  }

  /// Returns an awaiter. `co_await` on it returns a lease or throws acquire_error. The coroutine
  /// resumes in the thread that ends the wait. The coroutine may be destroyed while it waits, but
  /// not while another thread is ending the wait.
  template <class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] auto co_acquire(std::chrono::duration<Rep, Period> timeout,
                                                    std::stop_token stop = {}) {
    return self().template awaiter<lease_type>(
        {deadline::after(timeout), std::move(stop), code_address::here()});
  }
  template <unitless Number>
  void co_acquire(Number, std::stop_token = {}) = delete;  // rejects a number without a unit
  /// Returns an awaiter as above, with the pool's `acquire_timeout`.
  [[nodiscard, LIDO_ALWAYS_INLINE]] auto co_acquire() { return co_acquire(acquire_timeout()); }
  /// Returns an awaiter. `co_await` on it returns an acquire_result instead of throwing
  /// acquire_error.
  template <class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] auto co_try_acquire(std::chrono::duration<Rep, Period> timeout,
                                                        std::stop_token stop = {}) {
    return self().template awaiter<result_type>(
        {deadline::after(timeout), std::move(stop), code_address::here()});
  }
  template <unitless Number>
  void co_try_acquire(Number, std::stop_token = {}) = delete;  // rejects a number without a unit

  /// Calls `f(R&)` with a resource acquired for this call, and returns what `f` returns. Throws
  /// whatever `acquire` or `f` throws. If `f` throws, discards the resource, unless the factory's
  /// `is_clean_after` reports that the resource is clean.
  template <class F>
  [[LIDO_ALWAYS_INLINE]] decltype(auto) with(F&& f) {
    lease_type lease = acquire();
    return note_exception([&]() -> decltype(auto) { return std::forward<F>(f)(*lease); },
                          [&](const std::exception& thrown) { judge(lease, thrown); });
  }

  /// Does in a coroutine what `with` does. `f(R&)` returns a coroutine, which `co_with` awaits. The
  /// return type of `co_with` is that of `f`. Also discards the resource if the coroutine is
  /// destroyed while it is suspended.
  template <class F>
  auto co_with(F f) -> std::invoke_result_t<F&, R&> {
    return use_in_coroutine<decltype(keep())>(keep(), std::move(f));
  }

  /// Adds a resource that the pool did not create, or that `detach` has removed from the pool. The
  /// pool then uses, validates, resets and destroys the resource like any other, and counts it as
  /// created. If the pool is full or closed, returns false and leaves `resource` unchanged. Throws
  /// whatever moving an R throws. An adopted resource has the current generation. So a flush does
  /// not destroy a resource that was detached before the flush and is adopted after it.
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

  /// Returns what library code keeps after the acquire function has returned: the pool, or a view
  /// that owns a copy of its key. See `kept` above.
  [[nodiscard]] friend decltype(auto) kept_for_later(acquire_forms& from) { return from.keep(); }
  /// Keeps the resource after `thrown` if the factory reports that it is clean. For other forms of
  /// `with`.
  friend void keep_if_clean(acquire_forms& /*from*/, lease_type& lease,
                            const std::exception& thrown) noexcept {
    judge(lease, thrown);
  }

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

  /// Acquires a resource, and reads the clock only if it has to wait. Inlined so that a view stays
  /// in registers.
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

  /// Runs `f` for `co_with`. Static, because a view may be destroyed before the coroutine resumes.
  template <class From, class F>
  static auto use_in_coroutine(From from, F f) -> std::invoke_result_t<F&, R&> {
    lease_type lease = co_await from.co_acquire();
    lease.discard_unless_kept();
    LIDO_TRY {
      if constexpr (returns_nothing<std::invoke_result_t<F&, R&>, From, F>) {
        co_await f(*lease);
        lease.keep();
      } else {
        auto result = co_await f(*lease);
        lease.keep();
        co_return result;
      }
    }
    LIDO_NOTE_EXCEPTION([&](const std::exception& thrown) { judge(lease, thrown); })
  }
  /// Keeps the resource after `thrown` if the factory reports that it is clean.
  static void judge(lease_type& lease, const std::exception& thrown) noexcept {
    pool_slot& slot = *lease.grant_.slot;
    if (slot.maker->is_clean_after(slot, thrown)) {
      lease.keep();
    }
  }
};

}  // namespace lido::inline v0::detail
