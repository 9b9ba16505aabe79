/// @file
/// Internal. Operations of Asio that wait, by the context that their handlers are for: it may end
/// first.
#pragma once

#include <condition_variable>
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

/// The operations of one context. A thread that ends a wait and the end of the context may come at
/// the same moment; a mutex decides which of them gets the operation. Posts of handlers are
/// counted, and the end of the context waits for them. No mutex is held during a post, since it may
/// destroy the user's handler.
class asio_waits {
 public:
  /// While one of these lives, the context does.
  class posting {
   public:
    posting() noexcept = default;
    explicit posting(asio_waits& in) noexcept : in_(&in) {}
    posting(posting&& other) noexcept : in_(std::exchange(other.in_, nullptr)) {}
    posting& operator=(posting&&) = delete;
    posting(const posting&) = delete;
    posting& operator=(const posting&) = delete;
    ~posting() {
      if (in_ != nullptr) {
        in_->end_posting();
      }
    }
    [[nodiscard]] explicit operator bool() const noexcept { return in_ != nullptr; }

   private:
    asio_waits* in_ = nullptr;
  };

  /// False: the context has ended.
  [[nodiscard]] bool add(asio_wait& wait) {
    const std::lock_guard guard(mutex_);
    if (ended_) {
      return false;
    }
    wait.linked_ = true;
    wait.next_ = first_;
    if (first_ != nullptr) {
      first_->previous_ = &wait;
    }
    first_ = &wait;
    return true;
  }

  /// Takes a wait out, to post its handler. Empty if the context has ended.
  [[nodiscard]] posting claim(asio_wait& wait) {
    const std::lock_guard guard(mutex_);
    if (!wait.linked_) {
      return {};
    }
    remove(wait);
    ++posting_;
    return posting(*this);
  }

  void forget(asio_wait& wait) {
    const std::lock_guard guard(mutex_);
    if (wait.linked_) {
      remove(wait);
    }
  }

  /// The context ends. What the operations have is destroyed outside the mutex: it is the user's.
  void end() noexcept {
    std::unique_lock guard(mutex_);
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
    posted_.wait(guard, [this] { return posting_ == 0; });
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

  void end_posting() noexcept {
    const std::lock_guard guard(mutex_);
    if (--posting_ == 0) {
      posted_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable posted_;
  asio_wait* first_ = nullptr;
  unsigned posting_ = 0;
  bool ended_ = false;
};

/// All that a strand wants to know of its executor in order to be made.
struct context_of_strand {
  net::execution_context* named;
  [[nodiscard]] net::execution_context& context() const noexcept { return *named; }
};

/// The part of a context that hears of its end. Asio ends such parts newest first, and handlers may
/// be posted through any part that is older: through what runs them, and through that of strands,
/// which is made before this.
///
/// An executor of the older form, which has no properties, may need another part, as
/// `io_context::strand` does: it has made that itself, and its type has a part like this of its
/// own, of `Older`, which is not made before one waits.
template <class Older = void>
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

template <class Executor>
concept names_context = requires(const Executor& executor) {
  net::use_service<asio_waits_service<Executor>>(executor.context());
};

/// Of the executor's context. An executor without a context, which cannot end, has an object of its
/// own.
template <class Executor>
std::shared_ptr<asio_waits> waits_beside(const Executor& executor) {
  if constexpr (net::can_query<const Executor&, net::execution::context_t>::value) {
    return net::use_service<asio_waits_service<>>(net::query(executor, net::execution::context))
        .waits();
  } else if constexpr (names_context<Executor>) {
    return net::use_service<asio_waits_service<Executor>>(executor.context()).waits();
  } else {
    return std::make_shared<asio_waits>();
  }
}

}  // namespace LIDO_ASIO_NAMESPACE
}  // namespace lido::detail
