/// @file
/// Public. `async_acquire` and `async_try_acquire`: wait for a resource of a pool with a completion
/// token of Asio. Uses Boost.Asio or, with LIDO_STANDALONE_ASIO, standalone Asio. One program may
/// use both, so each has a namespace of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>  // first: Asio 1.22 chooses how it allocates by the standard library's macros
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#if defined(LIDO_STANDALONE_ASIO)
#define LIDO_ASIO ::asio
// NOLINTNEXTLINE(bugprone-macro-parentheses): a header has none
#define LIDO_ASIO_HEADER(name) <asio/name.hpp>
#define LIDO_ASIO_NAMESPACE standalone_asio
#else
#define LIDO_ASIO ::boost::asio
// NOLINTNEXTLINE(bugprone-macro-parentheses): a header has none
#define LIDO_ASIO_HEADER(name) <boost/asio/name.hpp>
#define LIDO_ASIO_NAMESPACE boost_asio
#endif

#include LIDO_ASIO_HEADER(associated_executor)
#include LIDO_ASIO_HEADER(async_result)
#include LIDO_ASIO_HEADER(execution)
#include LIDO_ASIO_HEADER(execution_context)
#include LIDO_ASIO_HEADER(executor_work_guard)
#include LIDO_ASIO_HEADER(post)
#include LIDO_ASIO_HEADER(query)
#include LIDO_ASIO_HEADER(strand)
#include LIDO_ASIO_HEADER(use_awaitable)
#if __has_include(LIDO_ASIO_HEADER(associated_cancellation_slot))
#include LIDO_ASIO_HEADER(associated_cancellation_slot)
#define LIDO_ASIO_HAS_CANCELLATION
#endif
#if defined(ASIO_HAS_CO_AWAIT) || defined(BOOST_ASIO_HAS_CO_AWAIT)
#define LIDO_ASIO_HAS_COROUTINES
#endif
#undef LIDO_ASIO_HEADER

#include "lido/platform/compiler.hpp"
#include "lido/resource/co_acquire.hpp"
#include "lido/resource/lease.hpp"
#include "lido/resource/stop_request.hpp"

namespace lido::inline v0 {

inline namespace LIDO_ASIO_NAMESPACE {

namespace detail_asio {

namespace net = LIDO_ASIO;
#undef LIDO_ASIO

#if defined(LIDO_ASIO_HAS_CANCELLATION)
using net::get_associated_cancellation_slot;
#else
struct no_cancellation_slot {
  [[nodiscard]] static constexpr bool is_connected() noexcept { return false; }
  template <class Handler>
  static void assign(const Handler& /*handler*/) noexcept {}
  static void clear() noexcept {}
};
template <class Handler>
[[nodiscard]] no_cancellation_slot get_associated_cancellation_slot(const Handler& /*handler*/) {
  return {};
}
#endif

/// An operation that waits.
class asio_wait : public std::enable_shared_from_this<asio_wait> {
 public:
  asio_wait() noexcept = default;
  asio_wait(const asio_wait&) = delete;
  asio_wait& operator=(const asio_wait&) = delete;
  virtual ~asio_wait() = default;

  /// Destroys what belongs to the context, which is ending.
  virtual void abandon() noexcept = 0;
};

/// The waiting operations of one context. A wait may complete while the context ends; a mutex
/// decides which of the two gets the operation. Posts of handlers are counted, and the end of the
/// context waits for them. No mutex is held during a post, since that may destroy the user's
/// handler.
class asio_waits {
 public:
  /// Adds an operation. Returns false if the context has ended. Throws std::bad_alloc.
  [[nodiscard]] bool add(asio_wait& wait) {
    const std::lock_guard<std::mutex> guard(mutex_);
    return !ended_ && waiting_.insert(&wait).second;
  }

  void forget(asio_wait& wait) {
    const std::lock_guard<std::mutex> guard(mutex_);
    waiting_.erase(&wait);
  }

  /// Removes a wait and calls `post()`, during which the context stays alive. Does nothing if it
  /// has ended.
  template <class Post>
  void claim(asio_wait& wait, Post post) {
    std::unique_lock<std::mutex> guard(mutex_);
    if (waiting_.erase(&wait) != 0) {
      ++posting_;
      guard.unlock();
      post();
      guard.lock();
      --posting_;
      posted_.notify_all();
    }
  }

  /// Abandons all operations as the context ends, outside the mutex: that destroys objects of
  /// users.
  void end() noexcept {
    std::unique_lock<std::mutex> guard(mutex_);
    ended_ = true;
    while (!waiting_.empty()) {
      std::shared_ptr<asio_wait> next = (*waiting_.begin())->weak_from_this().lock();
      waiting_.erase(waiting_.begin());
      guard.unlock();
      if (next != nullptr) {
        next->abandon();
        next.reset();
      }
      guard.lock();
    }
    posted_.wait(guard, [this] { return posting_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable posted_;
  std::set<asio_wait*> waiting_;
  unsigned posting_ = 0;
  bool ended_ = false;
};

/// What the constructor of a strand needs of an executor.
struct context_of_strand {
  net::execution_context* named;
  [[nodiscard]] net::execution_context& context() const noexcept { return *named; }
};

/// The service by which a context announces its end. Asio shuts services down newest first, and
/// handlers may be posted through any older service. So the service of strands is made before this.
/// An executor may have made a service of its own for its handlers, as `io_context::strand` does.
/// So each type of executor has a service like this, made when the first operation waits.
template <class Executor>
class asio_waits_service : public net::execution_context::service {
 public:
  using key_type = asio_waits_service;
  // NOLINTNEXTLINE(cert-err58-cpp): as Asio requires
  static inline net::execution_context::id id;

  explicit asio_waits_service(net::execution_context& context)
      : net::execution_context::service(context) {
    const net::strand<context_of_strand> first(context_of_strand{&context});
  }
  asio_waits_service(const asio_waits_service&) = delete;
  asio_waits_service& operator=(const asio_waits_service&) = delete;
  /// Ends the waits here, too: an object that the context destroys may be the first user of this
  /// service, after the context has called `shutdown` of all services.
  ~asio_waits_service() override { waits_->end(); }

  [[nodiscard]] const std::shared_ptr<asio_waits>& waits() const noexcept { return waits_; }

 private:
  void shutdown() noexcept override { waits_->end(); }

  std::shared_ptr<asio_waits> waits_ = std::make_shared<asio_waits>();
};

/// Returns the waits of the executor's context, also if the executor has the older form, without
/// properties. An executor without a context gets an object of its own, as none can end.
template <class Executor>
std::shared_ptr<asio_waits> waits_beside(const Executor& executor) {
  using service = asio_waits_service<Executor>;
  if constexpr (net::can_query<const Executor&, net::execution::context_t>::value) {
    return net::use_service<service>(net::query(executor, net::execution::context)).waits();
  } else if constexpr (requires { net::use_service<service>(executor.context()); }) {
    return net::use_service<service>(executor.context()).waits();
  } else {
    return std::make_shared<asio_waits>();
  }
}

}  // namespace detail_asio

using asio_error_code =
    std::remove_cvref_t<decltype(make_error_code(detail_asio::net::error::operation_aborted))>;
using asio_error_category = std::remove_cvref_t<decltype(asio_error_code().category())>;

/// Returns the category of errors of acquires; a value is that of the `acquire_failure` plus 1.
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

[[nodiscard]] inline asio_error_code make_asio_error(acquire_failure cause) noexcept {
  return {static_cast<int>(cause) + 1, acquire_category()};
}

namespace detail_asio {

/// Stops the wait through a handler's cancellation slot, which Asio has since 1.19 (Boost 1.77). An
/// acquire has no partial results, so each type of cancellation stops it.
struct cancellation {
  detail::stop_request stop;
  template <class Type>
  void operator()(Type type) const {
    if (type != Type::none) {
      stop();
    }
  }
};

/// One operation: a handler, called with what `Finish` makes of the result, and a work guard for
/// its executor until then. Stopped by the caller's stop token, by the handler's cancellation slot,
/// and by the end of its context.
template <class Result, class Handler, class Finish>
class operation final : public asio_wait {
 public:
  operation(Handler handler, const std::stop_token& asked)
      : waits_(waits_beside(net::get_associated_executor(handler))),
        work_(net::get_associated_executor(handler)),
        slot_(get_associated_cancellation_slot(handler)),
        forward_(asked, stop_),
        handler_(std::make_unique<Handler>(std::move(handler))) {
    if (slot_.is_connected()) {
      slot_.assign(cancellation{stop_});
    }
  }
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;
  ~operation() override { waits_->forget(*this); }

  /// Registers this, so that the end of the context abandons it. Requires: a shared pointer owns
  /// this, since another thread may end the context at once.
  void enlist() {
    if (!waits_->add(*this)) {  // begun while the context is destroyed
      abandon();
    }
  }

  [[nodiscard]] std::stop_token stop_token() const { return stop_.source.get_token(); }

  /// Posts the handler, so that none runs inside a release. Called once. If the context has ended,
  /// the lease goes back.
  void complete(Result result) {
    waits_->claim(*this, [this, &result] {
      net::post(work_->get_executor(), [handler = std::move(handler_), outcome = std::move(result),
                                        slot = slot_]() mutable {
        slot.clear();  // in its thread, just before it: its next operation may use it
        Finish()(*handler, std::move(outcome));
      });
      work_.reset();
    });
  }
  void abandon() noexcept override {
    handler_.reset();
    work_.reset();
    stop_();
  }

 private:
  using executor = net::associated_executor_t<Handler>;
  using cancellation_slot = std::remove_cvref_t<decltype(get_associated_cancellation_slot(
      std::declval<const Handler&>()))>;

  std::shared_ptr<asio_waits> waits_;
  std::optional<net::executor_work_guard<executor>> work_;
  cancellation_slot slot_;
  detail::stop_request stop_;
  std::stop_callback<detail::stop_request> forward_;
  std::unique_ptr<Handler> handler_;
};

struct with_code {
  template <class R>
  using signature = void(asio_error_code, resource_lease<R>);
  template <class Handler, class R>
  void operator()(Handler& handler, acquire_result<R> result) const {
    const asio_error_code error = result ? asio_error_code() : make_asio_error(result.failure());
    handler(error, std::move(result.lease()));
  }
};

struct with_result {
  template <class R>
  using signature = void(acquire_result<R>);
  template <class Handler, class Result>
  void operator()(Handler& handler, Result result) const {
    handler(std::move(result));
  }
};

/// Starts an operation. `begin(callback, stop)` begins its wait.
template <class Result, class Signature, class Finish, class Begin, class CompletionToken>
auto initiate(Begin begin, std::stop_token stop, CompletionToken&& token) {
  return net::async_initiate<CompletionToken, Signature>(
      [](auto handler, Begin begins, const std::stop_token& until_asked) {
        using one = operation<Result, decltype(handler), Finish>;
        const auto waiting = std::make_shared<one>(std::move(handler), until_asked);
        waiting->enlist();
        begins([waiting](Result result) { waiting->complete(std::move(result)); },
               waiting->stop_token());
      },
      token, std::move(begin), std::move(stop));
}

/// Begins an acquire, perhaps after the call that made this has returned. `From`: see
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

/// Waits in the queue of `from`, a `resource_pool` or a `pool.at(key)`, up to `timeout` and until
/// `stop` is asked to stop. The completion signature is `void(error_code, resource_lease<R>)`: a
/// failure has `acquire_category()`.
///
/// A cancellation of any type through the handler's slot ends the wait with
/// acquire_failure::cancelled. The handler is posted to its associated executor. If its context
/// ends first, the handler is destroyed, and its resource goes back. Thread-safe, except the slot.
/// Throws std::bad_alloc before the wait begins. Requires: the pool lives until the wait has begun;
/// no executor of the handler owns its context.
template <class From, class CompletionToken, class Rep, class Period>
[[LIDO_ALWAYS_INLINE]] inline auto async_acquire(From&& from,
                                                 std::chrono::duration<Rep, Period> timeout,
                                                 CompletionToken&& token,
                                                 std::stop_token stop = {}) {
  return detail_asio::acquire<detail_asio::with_code>(from, detail::code_address::here(), timeout,
                                                      std::forward<CompletionToken>(token),
                                                      std::move(stop));
}

/// Waits up to the pool's `acquire_timeout`.
template <class From, class CompletionToken>
[[LIDO_ALWAYS_INLINE]] inline auto async_acquire(From&& from, CompletionToken&& token) {
  return async_acquire(from, from.acquire_timeout(), std::forward<CompletionToken>(token));
}

/// Waits as `async_acquire` does. The completion signature is `void(acquire_result<R>)`: a failure
/// has the numbers of the pool.
template <class From, class CompletionToken, class Rep, class Period>
[[LIDO_ALWAYS_INLINE]] inline auto async_try_acquire(From&& from,
                                                     std::chrono::duration<Rep, Period> timeout,
                                                     CompletionToken&& token,
                                                     std::stop_token stop = {}) {
  return detail_asio::acquire<detail_asio::with_result>(from, detail::code_address::here(), timeout,
                                                        std::forward<CompletionToken>(token),
                                                        std::move(stop));
}

/// Closes the pool without blocking: a separate thread waits for leases, up to `timeout`. The
/// completion signature is `void(close_report)`. Cancellation is ignored.
template <class Pool, class CompletionToken, class Rep, class Period>
auto async_close(Pool& pool, std::chrono::duration<Rep, Period> timeout, CompletionToken&& token) {
  return detail_asio::initiate<close_report, void(close_report), detail_asio::with_result>(
      [from = &pool, timeout](auto callback, const std::stop_token& /*stop*/) {
        from->async_close(std::move(callback), timeout);
      },
      std::stop_token(), std::forward<CompletionToken>(token));
}

#if defined(LIDO_ASIO_HAS_COROUTINES)
namespace detail_asio {

template <class From, class Timeout, class F>
auto use_in_coroutine(From from, Timeout timeout, F f)
    -> std::invoke_result_t<F&, typename std::remove_reference_t<From>::value_type&> {
  auto lease = co_await lido::async_acquire(from, timeout, net::use_awaitable);
  lease.discard_unless_kept();
  using coroutine = std::invoke_result_t<F&, typename std::remove_reference_t<From>::value_type&>;
  if constexpr (detail::returns_nothing<coroutine, From, Timeout, F>) {
    co_await f(*lease);
    lease.keep();
  } else {
    auto result = co_await f(*lease);
    lease.keep();
    co_return result;
  }
}

}  // namespace detail_asio

/// Calls `f(R&)`, which returns an `awaitable`, with a resource, in a coroutine of Asio. Discards
/// the resource if `f` throws, or if the coroutine is destroyed while it is suspended.
template <class From, class F, class Rep, class Period>
auto async_with(From&& from, std::chrono::duration<Rep, Period> timeout, F f) {
  return detail_asio::use_in_coroutine<decltype(kept_for_later(from))>(kept_for_later(from),
                                                                       timeout, std::move(f));
}
#endif

}  // namespace LIDO_ASIO_NAMESPACE

}  // namespace lido::inline v0
