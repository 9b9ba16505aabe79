/// @file
/// Internal. What an object_pool does when it is exhausted: the acquires that wait, and who is
/// asked.
#pragma once

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "lido/base/error.hpp"
#include "lido/concurrency/parking.hpp"
#include "lido/concurrency/waiter.hpp"
#include "lido/object/lease.hpp"
#include "lido/object/policy.hpp"

namespace lido::detail {

/// Whether a pool with these policies waits when it is exhausted.
template <class... Policies>
inline constexpr bool pool_waits = (... || waiting_policy<Policies>);

/// Base of `object_pool<T, ...>`, which is `Pool`. Its functions are there for all pools, so that
/// those without `policy::block` can say what is missing.
///
/// Each is as `acquire` of a pool with `policy::block`, but returns an empty lease if it was told
/// to stop before it was its turn. Its place in the order is that of its call. What a constructor
/// throws comes out, and the slot goes to the next that waits.
template <class T, class Pool, bool Waits>
class waiting_acquires {
 public:
  /// Waits at most `wait`, of which nothing or less means not at all, and more than a century means
  /// for ever.
  template <class Rep, class Period, class... Args>
  [[nodiscard, gnu::always_inline]] lease<T, Pool> acquire_for(
      std::chrono::duration<Rep, Period> wait, Args&&... args) {
    static_assert(Waits, "lido: acquire_for needs object_pool<T, policy::block>");
    return acquire_within(Pool::place::here(), deadline::after(wait), nullptr,
                          std::forward<Args>(args)...);
  }

  /// Waits at most until `moment`. Clocks other than steady ones are read once, at the start: to
  /// set them during the wait changes nothing.
  template <class Clock, class Duration, class... Args>
  [[nodiscard, gnu::always_inline]] lease<T, Pool> acquire_until(
      std::chrono::time_point<Clock, Duration> moment, Args&&... args) {
    static_assert(Waits, "lido: acquire_until needs object_pool<T, policy::block>");
    return acquire_within(Pool::place::here(), deadline::at(moment), nullptr,
                          std::forward<Args>(args)...);
  }

  /// Waits until somebody asks `stop` to. If that was before, does not wait at all, but takes what
  /// is free. Only with policy::block: to others a stop token is an argument like any other.
  template <class... Args>
  requires Waits [[nodiscard, gnu::always_inline]] lease<T, Pool> acquire(std::stop_token stop,
                                                                          Args&&... args) {
    return acquire_within(Pool::place::here(), deadline(), &stop, std::forward<Args>(args)...);
  }

 private:
  friend Pool;
  waiting_acquires() = default;

  [[nodiscard]] Pool& pool() noexcept { return static_cast<Pool&>(*this); }

  template <class Place, class... Args>
  lease<T, Pool> acquire_within(Place at, const deadline& until, const std::stop_token* stop,
                                Args&&... args) {
    void* slot = pool().take_slot();
    if (slot == nullptr) [[unlikely]] {
      slot = wait_for_slot(until, stop);
      if (slot == nullptr) {
        return lease<T, Pool>(nullptr, &pool());
      }
    }
    return lease<T, Pool>(pool().construct(at, slot, std::forward<Args>(args)...), &pool());
  }

  /// Without a stop token if `stop` is null.
  [[nodiscard, gnu::noinline]] void* wait_for_slot(const deadline& until,
                                                   const std::stop_token* stop) {
    waiter me;
    if (stop == nullptr) {
      return until.passed() ? nullptr : pool().source_.wait_for_slot(me, until);
    }
    if (stop->stop_requested()) {
      return nullptr;
    }
    const std::stop_callback end_wait(*stop, [&me]() noexcept { me.cancel(); });
    return pool().source_.wait_for_slot(me, until);
  }

  /// For `acquire`. Null: there shall be no object.
  [[nodiscard, gnu::noinline]] void* take_slot_when_exhausted() {
    if constexpr (Waits) {
      return wait_for_slot(deadline(), nullptr);
    } else {
      pool().throw_if_growth_failed();
      return ask_for_slot();
    }
  }

  [[nodiscard]] void* ask_for_slot() {
    void* slot = nullptr;
    for (std::size_t attempt = 1; slot == nullptr; ++attempt) {
      const exhaustion_answer answer = ask(attempt);
      if (answer == exhaustion_answer::fail) {
        throw pool_exhausted(pool().name(), pool().capacity(), pool().stats().in_use);
      }
      if (answer == exhaustion_answer::drop) {
        break;
      }
      slot = pool().take_slot();
    }
    return slot;
  }

  [[nodiscard]] exhaustion_answer ask(std::size_t attempt) {
    const exhaustion what{pool().name(), pool().capacity(), pool().stats().in_use, attempt};
    auto& policy = pool().exhaustion_;
    if constexpr (std::is_void_v<decltype(policy.on_exhausted(what))>) {
      policy.on_exhausted(what);
      return exhaustion_answer::fail;
    } else {
      return policy.on_exhausted(what);
    }
  }
};

}  // namespace lido::detail
