/// @file
/// Internal. Operations of Asio that wait for a pool. They use Boost.Asio or, if
/// LIDO_STANDALONE_ASIO is defined, standalone Asio. One program may use both libraries, so the
/// functions for each library have a separate namespace.
#pragma once

#include <condition_variable>
#include <cstddef>  // before Asio: macros of the standard library decide how Asio 1.22 allocates
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <type_traits>
#include <utility>

#if defined(LIDO_STANDALONE_ASIO)
#define LIDO_ASIO ::asio
// NOLINTNEXTLINE(bugprone-macro-parentheses): a header name has no parentheses
#define LIDO_ASIO_HEADER(name) <asio/name.hpp>
#define LIDO_ASIO_NAMESPACE standalone_asio
#else
#define LIDO_ASIO ::boost::asio
// NOLINTNEXTLINE(bugprone-macro-parentheses): a header name has no parentheses
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

#include "lido/concurrency/stop_request.hpp"

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

/// The base class of operations that wait.
class asio_wait : public std::enable_shared_from_this<asio_wait> {
 public:
  asio_wait() noexcept = default;
  asio_wait(const asio_wait&) = delete;
  asio_wait& operator=(const asio_wait&) = delete;
  virtual ~asio_wait() = default;

  /// Destroys the parts of the operation that belong to the context. Called when the context shuts
  /// down.
  virtual void abandon() noexcept = 0;
};

/// The waiting operations of one context. A wait may complete while the context shuts down. A mutex
/// decides whether the completion or the shutdown gets the operation. The posts of handlers in
/// progress are counted, so that the shutdown can wait until they have finished. The mutex is not
/// held during a post, since a post may destroy the user's handler.
class asio_waits {
 public:
  /// Adds an operation. Returns false if the context has shut down. Throws std::bad_alloc.
  [[nodiscard]] bool add(asio_wait& wait) {
    const std::lock_guard<std::mutex> guard(mutex_);
    return !ended_ && waiting_.insert(&wait).second;
  }

  void forget(asio_wait& wait) {
    const std::lock_guard<std::mutex> guard(mutex_);
    waiting_.erase(&wait);
  }

  /// Removes `wait` and calls `post()`. The context stays alive during that call. Does nothing if
  /// `end` has already removed `wait`.
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

  /// Abandons all operations, and waits for posts in progress. Called when the context shuts down.
  /// Unlocks the mutex while it abandons an operation, since this destroys objects of the user.
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

/// The only part of an executor that the constructor of a strand needs: its context.
struct context_of_strand {
  net::execution_context* named;
  [[nodiscard]] net::execution_context& context() const noexcept { return *named; }
};

/// The service that reports when a context shuts down. Asio shuts the newest service down first,
/// and handlers may be posted through any older service. So the constructor creates the service of
/// strands before this one. Other executors, such as `io_context::strand`, create their own
/// services for handlers. So each type of executor has a separate `asio_waits_service`, which is
/// created when the first operation waits.
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
  /// Ends the waits in case `shutdown` was not called. The first user of this service may be an
  /// object that the context is destroying. By then the context has already called `shutdown` of
  /// its services, which did not yet include this one.
  ~asio_waits_service() override { waits_->end(); }

  [[nodiscard]] const std::shared_ptr<asio_waits>& waits() const noexcept { return waits_; }

 private:
  void shutdown() noexcept override { waits_->end(); }

  std::shared_ptr<asio_waits> waits_ = std::make_shared<asio_waits>();
};

/// Returns the waits of the executor's context. Also supports executors of the older form, which
/// have no properties. An executor without a context gets its own object, since it has no context
/// that could shut down.
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

/// Stops the wait through the handler's cancellation slot. Asio has had such slots since 1.19
/// (Boost 1.77). An acquire has no partial results, so every type of cancellation stops the
/// acquire.
struct cancellation {
  detail::stop_request stop;
  template <class Type>
  void operator()(Type type) const {
    if (type != Type::none) {
      stop();
    }
  }
};

/// One operation that waits. Owns a handler and a work guard for the handler's executor until the
/// handler is posted. `Finish` calls the handler with the result. The caller's stop token, the
/// handler's cancellation slot and the shutdown of the context each stop the operation.
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

  /// Registers the operation, so that a shutdown of the context abandons it. Requires: a shared
  /// pointer owns the operation, since another thread may shut the context down at once.
  void enlist() {
    if (!waits_->add(*this)) {  // begun while the context is being destroyed
      abandon();
    }
  }

  [[nodiscard]] std::stop_token stop_token() const { return stop_.source.get_token(); }

  /// Posts the handler, so that no handler runs inside a release. Called once. If the context has
  /// abandoned the operation, the lease in `result` gives its resource back.
  void complete(Result result) {
    waits_->claim(*this, [this, &result] {
      net::post(work_->get_executor(), [handler = std::move(handler_), outcome = std::move(result),
                                        slot = slot_]() mutable {
        slot.clear();  // in the handler's thread, before the call: the handler may reuse the slot
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

/// Calls a handler with the result alone.
struct with_result {
  template <class Handler, class Result>
  void operator()(Handler& handler, Result result) const {
    handler(std::move(result));
  }
};

/// Posts the handler with a result that exists already. Allocates only what Asio allocates for a
/// post. The caller keeps the context alive meanwhile, as for any post.
template <class Finish, class Handler, class Result>
void post_result(Handler handler, Result result) {
  const net::associated_executor_t<Handler> executor = net::get_associated_executor(handler);
  net::post(executor, [call = std::move(handler), outcome = std::move(result)]() mutable {
    Finish()(call, std::move(outcome));
  });
}

/// Posts the handler with the result of `begin.at_once()`. Returns false, and leaves the handler as
/// it is, if there is no such function or result.
template <class Finish, class Begin, class Handler>
[[nodiscard]] bool try_post_at_once(Begin& begin, Handler& handler) {
  if constexpr (requires { begin.at_once(); }) {
    if (auto result = begin.at_once()) {
      post_result<Finish>(std::move(handler), std::move(result));
      return true;
    }
  }
  return false;
}

/// Starts an operation. `begin.at_once()`, if it exists, returns a result that needs no wait, or an
/// empty one. `begin(callback, stop)` begins a wait.
template <class Result, class Signature, class Finish, class Begin, class CompletionToken>
auto initiate(Begin begin, std::stop_token stop, CompletionToken&& token) {
  return net::async_initiate<CompletionToken, Signature>(
      [](auto handler, Begin begins, const std::stop_token& until_asked) {
        if (try_post_at_once<Finish>(begins, handler)) {
          return;
        }
        using one = operation<Result, decltype(handler), Finish>;
        const auto waiting = std::make_shared<one>(std::move(handler), until_asked);
        waiting->enlist();
        begins([waiting](Result result) { waiting->complete(std::move(result)); },
               waiting->stop_token());
      },
      token, std::move(begin), std::move(stop));
}

}  // namespace detail_asio

}  // namespace LIDO_ASIO_NAMESPACE

}  // namespace lido::inline v0
