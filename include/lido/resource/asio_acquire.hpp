/// @file
/// Public. `async_acquire`: waits for a resource of a pool with a completion token of Asio.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "lido/resource/asio_names.hpp"
#include "lido/resource/asio_stop.hpp"
#include "lido/resource/asio_waits.hpp"
#include "lido/resource/resource_pool.hpp"

namespace lido {

namespace detail {
inline namespace LIDO_ASIO_NAMESPACE {

/// One operation: a handler, and the promise to its executor that it will be called.
template <class R, class Handler>
class asio_operation final : public asio_wait {
 public:
  asio_operation(Handler handler, const std::stop_token& stop)
      : waits_(waits_beside(net::get_associated_executor(handler))),
        work_(net::get_associated_executor(handler)),
        stop_(handler, stop),
        handler_(std::make_unique<Handler>(std::move(handler))) {
    if (!waits_->add(*this)) {  // begun by what the end of the context destroys
      asio_operation::abandon();
    }
  }
  asio_operation(const asio_operation&) = delete;
  asio_operation& operator=(const asio_operation&) = delete;
  ~asio_operation() override { waits_->forget(*this); }

  [[nodiscard]] std::stop_token stop_token() const { return stop_.token(); }

  /// Once. Posted, since whoever ends the wait may be anybody: no handler runs in a release. Where
  /// the context has ended the lease goes back.
  void complete(resource_lease<R> lease, std::exception_ptr error) {
    const asio_waits::posting still_there = waits_->claim(*this);
    if (!still_there) {
      return;
    }
    // Nothing of the handler is left behind, and no executor outlives `still_there`.
    net::post(work_->get_executor(),
              [handler = std::move(handler_), lease = std::move(lease), error = std::move(error),
               clear_slot = stop_.clearer()]() mutable {
                clear_slot();
                (*handler)(std::move(error), std::move(lease));
              });
    work_.reset();
  }

  void abandon() noexcept override {
    handler_.reset();
    work_.reset();
    stop_.request();  // nobody is left who could have what it waits for
  }

 private:
  std::shared_ptr<asio_waits> waits_;
  std::optional<net::executor_work_guard<net::associated_executor_t<Handler>>> work_;
  asio_stop<Handler> stop_;
  std::unique_ptr<Handler> handler_;
};

}  // namespace LIDO_ASIO_NAMESPACE
}  // namespace detail

inline namespace LIDO_ASIO_NAMESPACE {

/// Waits in the queue of `pool`, up to `timeout` and until `stop` is asked to stop. The completion
/// signature is `void(std::exception_ptr, resource_lease<R>)`: an empty pointer and a lease, or an
/// acquire_error and an empty lease. Futures and coroutines throw the error.
///
/// Where Asio has per-operation cancellation (1.19, Boost 1.77), a cancellation of any type that
/// the slot of the handler gets ends the wait as `stop` does, with acquire_failure::cancelled. One
/// that comes when the wait is over changes nothing: the handler gets the lease.
///
/// The handler is posted to its associated executor, Asio's system executor if it has none, and
/// never called by this function. If the executor's context ends first, the handler is destroyed,
/// the wait ends, and what it was given goes back to the pool. Thread-safe, but for the slot, which
/// Asio wants used by the handler's executor alone; blocks as `resource_pool::async_acquire` does.
/// Throws std::bad_alloc before the wait begins; memory that is missing at its end is fatal.
/// Requires: the pool lives until the wait has begun, with lazy tokens at their start; not longer.
/// No executor of the handler owns its context: a release that let go of the last one would wait in
/// the end of that context for itself. A context that is stopped keeps its handlers and what they
/// were given until it runs again or ends; the end of the pool waits for that up to
/// `close_timeout`.
/// Beware: whoever ends a lease runs the factory's `reset`, and waits for it. A handler that must
/// not block its context ends it elsewhere (`net::post` to a pool of threads), or discards it.
/// Memory is that of operator new, whatever the handler's allocator.
template <class R, class CompletionToken, class Rep, class Period>
[[gnu::always_inline]] inline auto async_acquire(resource_pool<R>& pool,
                                                 std::chrono::duration<Rep, Period> timeout,
                                                 CompletionToken&& token,
                                                 std::stop_token stop = {}) {
  using signature = void(std::exception_ptr, resource_lease<R>);
  return detail::net::async_initiate<CompletionToken, signature>(
      [](auto handler, resource_pool<R>* from, detail::place at,
         std::chrono::duration<Rep, Period> wait, const std::stop_token& until_asked) {
        using operation = detail::asio_operation<R, decltype(handler)>;
        const auto waiting = std::make_shared<operation>(std::move(handler), until_asked);
        from->async_acquire_at(
            at,
            [waiting](resource_lease<R> lease, std::exception_ptr error) {
              waiting->complete(std::move(lease), std::move(error));
            },
            wait, waiting->stop_token());
      },
      token, &pool, detail::place::here(), timeout, std::move(stop));
}

/// The same, up to the pool's `acquire_timeout`.
template <class R, class CompletionToken>
[[gnu::always_inline]] inline auto async_acquire(resource_pool<R>& pool, CompletionToken&& token) {
  return async_acquire(pool, pool.acquire_timeout(), std::forward<CompletionToken>(token));
}

}  // namespace LIDO_ASIO_NAMESPACE

}  // namespace lido
