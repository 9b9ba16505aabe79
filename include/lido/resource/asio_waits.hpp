/// @file
/// Internal. Which Asio is meant: that of Boost, or, with LIDO_STANDALONE_ASIO, the one without.
/// Both may be in one program, so what is made for either is in a namespace of its own. And
/// operations that wait, by the context that their handlers are for: it may end first.
#pragma once

#include <condition_variable>
#include <cstddef>  // first: by the standard library's macros Asio 1.22 chooses how it allocates
#include <memory>
#include <mutex>
#include <set>

#if defined(LIDO_STANDALONE_ASIO)

#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>
#if __has_include(<asio/associated_cancellation_slot.hpp>)
#include <asio/associated_cancellation_slot.hpp>
#define LIDO_ASIO_HAS_CANCELLATION
#endif
#if defined(ASIO_HAS_CO_AWAIT)
#define LIDO_ASIO_HAS_COROUTINES
#endif
#define LIDO_ASIO ::asio
#define LIDO_ASIO_NAMESPACE standalone_asio

#else

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#if __has_include(<boost/asio/associated_cancellation_slot.hpp>)
#include <boost/asio/associated_cancellation_slot.hpp>
#define LIDO_ASIO_HAS_CANCELLATION
#endif
#if defined(BOOST_ASIO_HAS_CO_AWAIT)
#define LIDO_ASIO_HAS_COROUTINES
#endif
#define LIDO_ASIO ::boost::asio
#define LIDO_ASIO_NAMESPACE boost_asio

#endif

namespace lido::detail {
inline namespace LIDO_ASIO_NAMESPACE {

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

  /// Its context ends: what belongs to that goes now.
  virtual void abandon() noexcept = 0;
};

/// The operations of one context. A thread that ends a wait and the end of the context may come at
/// the same moment; a mutex decides which of them gets the operation. Posts of handlers are
/// counted, and the end of the context waits for them. No mutex is held during a post, since it may
/// destroy the user's handler.
class asio_waits {
 public:
  /// False: the context has ended. Throws std::bad_alloc.
  [[nodiscard]] bool add(asio_wait& wait) {
    const std::lock_guard guard(mutex_);
    return !ended_ && waiting_.insert(&wait).second;
  }

  void forget(asio_wait& wait) {
    const std::lock_guard guard(mutex_);
    waiting_.erase(&wait);
  }

  /// Takes a wait out and calls `post()`, during which the context lives. Nothing if it has ended.
  template <class Post>
  void claim(asio_wait& wait, Post post) {
    std::unique_lock guard(mutex_);
    if (waiting_.erase(&wait) != 0) {
      ++posting_;
      guard.unlock();
      post();
      guard.lock();
      --posting_;
      posted_.notify_all();
    }
  }

  /// The context ends. What the operations have is destroyed outside the mutex: it is the user's.
  void end() noexcept {
    std::unique_lock guard(mutex_);
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

/// All that a strand wants to know of its executor in order to be made.
struct context_of_strand {
  net::execution_context* named;
  [[nodiscard]] net::execution_context& context() const noexcept { return *named; }
};

/// The part of a context that hears of its end. Asio ends such parts newest first, and handlers may
/// be posted through any part that is older. That of strands is made before this. An executor may
/// have made a part of its own for its handlers, as `io_context::strand` does. So each type of
/// executors has a part like this, which is not made before one waits.
template <class Executor>
class asio_waits_service : public net::execution_context::service {
 public:
  using key_type = asio_waits_service;
  // NOLINTNEXTLINE(*-avoid-non-const-global-variables,cert-err58-cpp): as Asio wants it
  static inline net::execution_context::id id;

  explicit asio_waits_service(net::execution_context& context)
      : net::execution_context::service(context) {
    const net::strand<context_of_strand> first(context_of_strand{&context});
  }
  asio_waits_service(const asio_waits_service&) = delete;
  asio_waits_service& operator=(const asio_waits_service&) = delete;
  /// What the end of a context destroys may be the first to ask, when the context has told its
  /// parts already.
  ~asio_waits_service() override { waits_->end(); }

  [[nodiscard]] const std::shared_ptr<asio_waits>& waits() const noexcept { return waits_; }

 private:
  void shutdown() noexcept override { waits_->end(); }

  std::shared_ptr<asio_waits> waits_ = std::make_shared<asio_waits>();
};

/// Of the executor's context, also where the executor has the older form, without properties. An
/// executor without a context, which cannot end, has an object of its own.
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

}  // namespace LIDO_ASIO_NAMESPACE
}  // namespace lido::detail
