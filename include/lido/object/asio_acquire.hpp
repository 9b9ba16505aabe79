/// @file
/// Public. `async_acquire`, which acquires an object with a completion token of Asio.
#pragma once

#include <chrono>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

#include "lido/allocator/slot_wait.hpp"
#include "lido/concurrency/asio_operation.hpp"
#include "lido/concurrency/parking.hpp"
#include "lido/object/async_acquire.hpp"
#include "lido/object/object_pool.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0 {

inline namespace LIDO_ASIO_NAMESPACE {

namespace detail_asio {

/// Begins an acquire, perhaps after the call that created this object has returned.
template <class Pool, class Timeout, class... Stored>
struct slot_later {
  Pool* pool;
  typename detail::async_waits<Pool>::code_address at;
  Timeout timeout;
  std::tuple<Stored...> args;
  [[nodiscard]] typename Pool::lease_type at_once() {
    return detail::async_waits<Pool>::make_at_once(*pool, at, args);
  }
  void operator()(auto callback, std::stop_token stop) {
    detail::async_waits<Pool>::wait_with_callback(
        *pool, at, detail::slot_wait{detail::deadline::after(timeout), std::move(stop)},
        std::move(callback), std::move(args));
  }
};

}  // namespace detail_asio

/// Acquires an object made from `args`. Waits up to `timeout`, or until a stop is requested through
/// `stop`, in the same queue as threads. The completion signature is `void(lease<T, Traits>)`; the
/// lease is empty if the wait ends first.
///
/// Any type of cancellation through the handler's cancellation slot ends the wait. The handler is
/// posted to its associated executor. If the context of that executor shuts down first, the handler
/// is destroyed, and its object goes back to the pool.
///
/// The thread that ends the wait constructs the object, for example the thread that releases one.
/// The constructor must be noexcept. Thread-safe, except for the cancellation slot. Throws
/// std::bad_alloc before the wait begins. Requires: the pool lives until the wait has ended, and no
/// executor of the handler owns its own context.
template <class T, class Traits, class Rep, class Period, class CompletionToken, class... Args>
[[LIDO_ALWAYS_INLINE]] inline auto async_acquire(object_pool<T, Traits>& pool,
                                                 std::chrono::duration<Rep, Period> timeout,
                                                 CompletionToken&& token, std::stop_token stop = {},
                                                 Args&&... args) {
  using pool_type = object_pool<T, Traits>;
  using lease_type = lease<T, Traits>;
  using later =
      detail_asio::slot_later<pool_type, std::chrono::duration<Rep, Period>, std::decay_t<Args>...>;
  return detail_asio::initiate<lease_type, void(lease_type), detail_asio::with_result>(
      later{&pool, detail::async_waits<pool_type>::code_address::here(), timeout,
            std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...)},
      std::move(stop), std::forward<CompletionToken>(token));
}
// Rejects a number without a unit.
template <class T, class Traits, detail::unitless Number, class CompletionToken, class... Args>
void async_acquire(object_pool<T, Traits>&, Number, CompletionToken&&, Args&&...) = delete;

/// Acquires an object as above, but waits without a time limit.
template <class T, class Traits, class CompletionToken, class... Args>
[[LIDO_ALWAYS_INLINE]] inline auto async_acquire(object_pool<T, Traits>& pool,
                                                 CompletionToken&& token, std::stop_token stop = {},
                                                 Args&&... args) {
  return async_acquire(pool, (std::chrono::nanoseconds::max)(),
                       std::forward<CompletionToken>(token), std::move(stop),
                       std::forward<Args>(args)...);
}

}  // namespace LIDO_ASIO_NAMESPACE

}  // namespace lido::inline v0
