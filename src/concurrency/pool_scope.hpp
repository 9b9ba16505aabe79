/// @file
/// Internal. Marks threads that are running user code called by a pool, and calls callbacks in
/// turn.
#pragma once

#include <utility>

#include "lido/base/assert.hpp"

namespace lido::inline v0::detail {

/// A wait whose callback is called once the wait has ended.
class callback_wait {
 public:
  /// A function that calls the callback. Called with no lock held.
  using delivery = void (*)(callback_wait&) noexcept;

  explicit callback_wait(delivery to) noexcept : deliver(to) {}
  callback_wait(const callback_wait&) = delete;
  callback_wait& operator=(const callback_wait&) = delete;

  [[nodiscard]] bool is_callback() const noexcept { return deliver != nullptr; }

  const delivery deliver;  ///< null for the wait of a thread

 protected:
  ~callback_wait() = default;

 private:
  friend class callback_queue;
  callback_wait* next_ = nullptr;
};

/// Callbacks to call, first in, first out.
class callback_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void push_back(callback_wait& wait) noexcept {
    wait.next_ = nullptr;
    (first_ != nullptr ? last_->next_ : first_) = &wait;
    last_ = &wait;
  }
  /// Removes the first wait and returns it, or returns null if the queue is empty.
  callback_wait* pop_front() noexcept {
    callback_wait* const wait = first_;
    if (wait != nullptr) {
      first_ = wait->next_;
    }
    return wait;
  }
  void append(callback_queue& other) noexcept {
    while (callback_wait* const wait = other.pop_front()) {
      push_back(*wait);
    }
  }

 private:
  callback_wait* first_ = nullptr;
  callback_wait* last_ = nullptr;
};

class pool_scope;

/// The innermost scope of this thread, or null. Callbacks have no other thread_local variable,
/// since a module that is loaded after the program has started has little space for such variables.
extern constinit thread_local const pool_scope* innermost_scope;

/// While it exists, marks its thread as running a task or a callback of a pool. Such a thread
/// cannot wait for that task or callback to end.
class pool_scope {
 public:
  /// Marks the thread as running user code of the pool at the address `pool`.
  explicit pool_scope(const void* pool) noexcept : pool_scope(pool, calling()) {}
  /// Marks the thread as the one that calls the callbacks in `calls`, including callbacks added
  /// while this scope exists.
  explicit pool_scope(callback_queue& calls) noexcept : pool_scope(nullptr, &calls) {}
  pool_scope(const pool_scope&) = delete;
  pool_scope& operator=(const pool_scope&) = delete;
  [[LIDO_ASSERTS]] ~pool_scope() {
    LIDO_ASSERT(innermost_scope == this,
                "code that a pool called has ended in another thread; it must not switch fibers");
    innermost_scope = outer_;
  }

  [[nodiscard]] static bool is_in(const void* pool) noexcept {
    const pool_scope* scope = innermost_scope;
    while (scope != nullptr && scope->pool_ != pool) {
      scope = scope->outer_;
    }
    return scope != nullptr;
  }
  /// Returns the callbacks that this thread has yet to call, or null if it is not running a
  /// callback.
  [[nodiscard]] static callback_queue* calling() noexcept {
    return innermost_scope != nullptr ? innermost_scope->calls_ : nullptr;
  }

 private:
  pool_scope(const void* pool, callback_queue* calls) noexcept
      : pool_(pool), calls_(calls), outer_(std::exchange(innermost_scope, this)) {}

  const void* pool_;
  callback_queue* calls_;
  const pool_scope* outer_;
};

/// Calls callbacks one after the other. A callback that releases its resource may end the wait of a
/// second callback. The second callback is called only after the first has returned, so a chain of
/// ten thousand callbacks needs no deep stack.
void call_in_turn(callback_queue& ended) noexcept;

/// While it exists, `call_in_turn` only stores callbacks, and the destructor calls them. Used
/// around code that must not run user code, such as code that holds a lock.
class calls_at_end {
 public:
  calls_at_end() noexcept = default;
  calls_at_end(const calls_at_end&) = delete;
  calls_at_end& operator=(const calls_at_end&) = delete;
  ~calls_at_end() = default;

 private:
  struct last : callback_queue {
    last() noexcept = default;
    last(const last&) = delete;
    last& operator=(const last&) = delete;
    ~last() { call_in_turn(*this); }
  };
  last calls_;
  pool_scope scope_{calls_};  // ends before `calls_`
};

/// Calls the callbacks that would otherwise have to wait until the callback that this thread is
/// running returns. Called before the thread sleeps, since the thread might wait for resources that
/// those callbacks have been given.
void call_before_sleep() noexcept;

}  // namespace lido::inline v0::detail
