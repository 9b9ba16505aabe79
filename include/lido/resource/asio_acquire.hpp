/// @file
/// Public. `async_acquire` and `async_try_acquire`, which acquire a resource with a completion
/// token of Asio.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include "lido/base/fail.hpp"
#include "lido/concurrency/asio_operation.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/resource/co_acquire.hpp"
#include "lido/resource/lease.hpp"

namespace lido::inline v0 {

inline namespace LIDO_ASIO_NAMESPACE {

/// Error code of the Asio in use: Boost's or the standard library's.
using asio_error_code =
    std::remove_cvref_t<decltype(make_error_code(detail_asio::net::error::operation_aborted))>;
/// Error category of the Asio in use.
using asio_error_category = std::remove_cvref_t<decltype(asio_error_code().category())>;

/// Returns the error category of acquires. An error value is the value of the `acquire_failure`
/// plus 1.
[[nodiscard]] inline const asio_error_category& acquire_category() noexcept {
  class category final : public asio_error_category {
    [[nodiscard]] const char* name() const noexcept override { return "lido.acquire"; }
    [[nodiscard]] std::string message(int value) const override {
      return std::string(to_string(static_cast<acquire_failure>(value - 1)));
    }
  };
  static const category one;
  return one;
}

/// Returns the error code for `cause`.
[[nodiscard]] inline asio_error_code make_asio_error(acquire_failure cause) noexcept {
  return {static_cast<int>(cause) + 1, acquire_category()};
}

namespace detail_asio {

struct with_code {
  template <class R>
  using signature = void(asio_error_code, resource_lease<R>);
  template <class Handler, class R>
  void operator()(Handler& handler, acquire_result<R> result) const {
    const asio_error_code error = result ? asio_error_code() : make_asio_error(result.failure());
    handler(error, std::move(result.lease()));
  }
};

struct with_acquire_result : with_result {
  template <class R>
  using signature = void(acquire_result<R>);
};

/// Begins an acquire, perhaps after the call that created this object has returned. For `From`, see
/// `acquire_forms::kept`.
template <class From, class Timeout>
struct acquire_later {
  From from;
  detail::code_address at;
  Timeout timeout;
  void operator()(auto callback, std::stop_token stop) {
    from.async_acquire_at(at, std::move(callback), timeout, std::move(stop));
  }
};

template <class Finish, class From, class Timeout, class Token>
auto acquire(From& from, detail::code_address at, Timeout timeout, Token&& token,
             std::stop_token stop) {
  using resource = typename From::value_type;
  return initiate<acquire_result<resource>, typename Finish::template signature<resource>, Finish>(
      acquire_later<decltype(kept_for_later(from)), Timeout>{kept_for_later(from), at, timeout},
      std::move(stop), std::forward<Token>(token));
}

}  // namespace detail_asio

/// Acquires a resource from `from`, which is a `resource_pool` or a `pool.at(key)`. Waits up to
/// `timeout`, or until a stop is requested through `stop`. The completion signature is
/// `void(error_code, resource_lease<R>)`. The error code of a failure has the category
/// `acquire_category()`, and its text is only the cause, such as "timed out". To learn why the last
/// create failed, use `async_try_acquire`.
///
/// Any type of cancellation through the handler's cancellation slot ends the wait with
/// acquire_failure::cancelled. The handler is posted to its associated executor. If the context of
/// that executor shuts down first, the handler is destroyed, and its resource goes back to the
/// pool. Thread-safe, except for the cancellation slot. Throws std::bad_alloc before the wait
/// begins. Requires: the pool lives until the wait has begun, and no executor of the handler owns
/// its own context.
template <class From, class CompletionToken, class Rep, class Period>
[[LIDO_ALWAYS_INLINE]] inline auto async_acquire(From&& from,
                                                 std::chrono::duration<Rep, Period> timeout,
                                                 CompletionToken&& token,
                                                 std::stop_token stop = {}) {
  return detail_asio::acquire<detail_asio::with_code>(from, detail::code_address::here(), timeout,
                                                      std::forward<CompletionToken>(token),
                                                      std::move(stop));
}
// Rejects a number without a unit.
template <class From, class CompletionToken, detail::unitless Number>
void async_acquire(From&&, Number, CompletionToken&&, std::stop_token = {}) = delete;

/// Acquires as above, but waits up to the pool's `acquire_timeout`.
template <class From, class CompletionToken>
[[LIDO_ALWAYS_INLINE]] inline auto async_acquire(From&& from, CompletionToken&& token) {
  return async_acquire(from, from.acquire_timeout(), std::forward<CompletionToken>(token));
}

/// Acquires as `async_acquire` does, but the completion signature is `void(acquire_result<R>)`. The
/// `error()` of a failure contains the statistics of the pool and the last error of `create`.
template <class From, class CompletionToken, class Rep, class Period>
[[LIDO_ALWAYS_INLINE]] inline auto async_try_acquire(From&& from,
                                                     std::chrono::duration<Rep, Period> timeout,
                                                     CompletionToken&& token,
                                                     std::stop_token stop = {}) {
  return detail_asio::acquire<detail_asio::with_acquire_result>(
      from, detail::code_address::here(), timeout, std::forward<CompletionToken>(token),
      std::move(stop));
}
// Rejects a number without a unit.
template <class From, class CompletionToken, detail::unitless Number>
void async_try_acquire(From&&, Number, CompletionToken&&, std::stop_token = {}) = delete;

/// Closes the pool without blocking: a separate thread waits up to `timeout` for the leases to end.
/// The completion signature is `void(close_report)`. Cancellation is ignored.
template <class Pool, class CompletionToken, class Rep, class Period>
auto async_close(Pool& pool, std::chrono::duration<Rep, Period> timeout, CompletionToken&& token) {
  return detail_asio::initiate<close_report, void(close_report), detail_asio::with_result>(
      [from = &pool, timeout](auto callback, const std::stop_token& /*stop*/) {
        from->async_close(std::move(callback), timeout);
      },
      std::stop_token(), std::forward<CompletionToken>(token));
}
// Rejects a number without a unit.
template <class Pool, class CompletionToken, detail::unitless Number>
void async_close(Pool&, Number, CompletionToken&&) = delete;

#if defined(LIDO_ASIO_HAS_COROUTINES)
namespace detail_asio {

template <class From, class Timeout, class F>
auto use_in_coroutine(From from, Timeout timeout, F f)
    -> std::invoke_result_t<F&, typename std::remove_reference_t<From>::value_type&> {
  auto lease = co_await lido::async_acquire(from, timeout, net::use_awaitable);
  lease.discard_unless_kept();
  using coroutine = std::invoke_result_t<F&, typename std::remove_reference_t<From>::value_type&>;
  LIDO_TRY {
    if constexpr (detail::returns_nothing<coroutine, From, Timeout, F>) {
      co_await f(*lease);
      lease.keep();
    } else {
      auto result = co_await f(*lease);
      lease.keep();
      co_return result;
    }
  }
  LIDO_NOTE_EXCEPTION([&](const std::exception& thrown) { keep_if_clean(from, lease, thrown); })
}

}  // namespace detail_asio

/// Acquires a resource in a coroutine of Asio and calls `f(R&)`, which returns an `awaitable`.
/// Discards the resource if `f` throws, unless the factory's `is_clean_after` reports that it is
/// clean. Also discards it if the coroutine is destroyed while it is suspended.
template <class From, class F, class Rep, class Period>
auto async_with(From&& from, std::chrono::duration<Rep, Period> timeout, F f) {
  return detail_asio::use_in_coroutine<decltype(kept_for_later(from))>(kept_for_later(from),
                                                                       timeout, std::move(f));
}
// Rejects a number without a unit.
template <class From, class F, detail::unitless Number>
void async_with(From&&, Number, F) = delete;
#endif

}  // namespace LIDO_ASIO_NAMESPACE

}  // namespace lido::inline v0
