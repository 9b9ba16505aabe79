/// @file
/// Internal. Operations of Asio that wait, by the context that their handlers are for: it may end
/// first.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "lido/resource/asio_names.hpp"

namespace lido::detail {
inline namespace LIDO_ASIO_NAMESPACE {

/// An operation that waits, in the list of its context.
class asio_wait : public std::enable_shared_from_this<asio_wait> {
 public:
  asio_wait() noexcept = default;
  asio_wait(const asio_wait&) = delete;
  asio_wait& operator=(const asio_wait&) = delete;
  virtual ~asio_wait() = default;

  /// Its context ends: what belongs to that goes now.
  virtual void abandon() noexcept = 0;

 private:
  friend class asio_waits;
  asio_wait* next_ = nullptr;
  asio_wait* previous_ = nullptr;
  bool linked_ = false;
};

/// Those of one context. Whoever ends a wait, and the end of the context, may come at the same
/// moment: which of them has the operation is decided under a mutex, which is also held while a
/// handler is posted, so that the context cannot end meanwhile.
class asio_waits {
 public:
  using lock = std::unique_lock<std::mutex>;

  void add(asio_wait& wait) {
    const lock guard(mutex_);
    wait.linked_ = !ended_;
    if (wait.linked_) {
      wait.next_ = first_;
      if (first_ != nullptr) {
        first_->previous_ = &wait;
      }
      first_ = &wait;
    }
  }

  /// Takes a wait out. The lock is empty if the context has ended.
  [[nodiscard]] lock claim(asio_wait& wait) {
    lock guard(mutex_);
    if (!wait.linked_) {
      return {};
    }
    remove(wait);
    return guard;
  }

  /// The context ends. What the operations have is destroyed outside the mutex: it is the user's.
  void end() noexcept {
    lock guard(mutex_);
    ended_ = true;
    while (first_ != nullptr) {
      std::shared_ptr<asio_wait> next = first_->weak_from_this().lock();
      remove(*first_);
      guard.unlock();
      if (next != nullptr) {
        next->abandon();
        next.reset();
      }
      guard.lock();
    }
  }

 private:
  void remove(asio_wait& wait) noexcept {
    asio_wait*& before = wait.previous_ == nullptr ? first_ : wait.previous_->next_;
    before = wait.next_;
    if (wait.next_ != nullptr) {
      wait.next_->previous_ = wait.previous_;
    }
    wait.linked_ = false;
  }

  std::mutex mutex_;
  asio_wait* first_ = nullptr;
  bool ended_ = false;
};

/// The part of a context that hears of its end. Asio ends such parts before it ends what runs the
/// handlers.
class asio_waits_service : public net::execution_context::service {
 public:
  using key_type = asio_waits_service;
  // NOLINTNEXTLINE(*-avoid-non-const-global-variables,cert-err58-cpp): as Asio wants it
  static inline net::execution_context::id id;

  explicit asio_waits_service(net::execution_context& context)
      : net::execution_context::service(context) {}

  [[nodiscard]] const std::shared_ptr<asio_waits>& waits() const noexcept { return waits_; }

 private:
  void shutdown() noexcept override { waits_->end(); }

  std::shared_ptr<asio_waits> waits_ = std::make_shared<asio_waits>();
};

template <class Executor>
concept names_context = requires(const Executor& executor) {
  net::use_service<asio_waits_service>(executor.context());
};

/// Of the context of this executor; those of an executor without one, which cannot end, are of
/// nobody.
template <class Executor>
std::shared_ptr<asio_waits> waits_beside(const Executor& executor) {
  if constexpr (net::can_query<const Executor&, net::execution::context_t>::value) {
    return net::use_service<asio_waits_service>(net::query(executor, net::execution::context))
        .waits();
  } else if constexpr (names_context<Executor>) {
    return net::use_service<asio_waits_service>(executor.context()).waits();
  } else {
    return std::make_shared<asio_waits>();
  }
}

}  // namespace LIDO_ASIO_NAMESPACE
}  // namespace lido::detail
