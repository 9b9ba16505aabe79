/// @file
/// Public. `async_acquire`: waits for a resource of a pool with a completion token of Boost.Asio.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <stop_token>
#include <utility>

#include "lido/resource/resource_pool.hpp"

namespace lido {

namespace detail {

/// One operation: a handler, and the promise to its executor that it will be called.
template <class R, class Handler>
class asio_operation {
 public:
  explicit asio_operation(Handler handler)
      : work_(boost::asio::get_associated_executor(handler)), handler_(std::move(handler)) {}

  /// Once. Posted, since whoever ends the wait may be anybody: no handler runs in a release.
  void complete(resource_lease<R> lease, std::exception_ptr error) {
    auto executor = work_.get_executor();
    boost::asio::post(executor, [handler = std::move(handler_), lease = std::move(lease),
                                 error = std::move(error)]() mutable {
      handler(std::move(error), std::move(lease));
    });
    work_.reset();
  }

 private:
  boost::asio::executor_work_guard<boost::asio::associated_executor_t<Handler>> work_;
  Handler handler_;
};

}  // namespace detail

/// Waits in the queue of `pool`, up to `timeout` and until `stop` is asked to stop. The completion
/// signature is `void(std::exception_ptr, resource_lease<R>)`: an empty pointer and a lease, or an
/// acquire_error and an empty lease. Futures and coroutines throw the error.
///
/// The handler is posted to its associated executor, Asio's system executor if it has none, and
/// never called by this function. If the executor's context ends first, the lease that the handler
/// did not get goes back to the pool. Thread-safe; blocks as `resource_pool::async_acquire` does.
/// Throws std::bad_alloc before the wait begins; memory that is missing at its end is fatal.
/// Requires: the pool outlives the call, not the wait.
template <class R, class CompletionToken>
[[gnu::always_inline]] inline auto async_acquire(resource_pool<R>& pool,
                                                 std::chrono::nanoseconds timeout,
                                                 CompletionToken&& token,
                                                 std::stop_token stop = {}) {
  using signature = void(std::exception_ptr, resource_lease<R>);
  return boost::asio::async_initiate<CompletionToken, signature>(
      [](auto handler, resource_pool<R>* from, detail::place at, std::chrono::nanoseconds wait,
         std::stop_token until_asked) {
        using operation = detail::asio_operation<R, decltype(handler)>;
        const auto waiting = std::make_shared<operation>(std::move(handler));
        from->async_acquire_at(
            at,
            [waiting](resource_lease<R> lease, std::exception_ptr error) {
              waiting->complete(std::move(lease), std::move(error));
            },
            wait, std::move(until_asked));
      },
      token, &pool, detail::place::here(), timeout, std::move(stop));
}

}  // namespace lido
