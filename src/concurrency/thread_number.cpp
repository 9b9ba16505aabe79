#include "lido/concurrency/thread_number.hpp"

#include <pthread.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <type_traits>

#include "lido/concurrency/atomic.hpp"

namespace lido::detail {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread

constinit thread_local std::size_t thread_offset = 0;

namespace {

// Set for good when the thread's number is taken back: destructors of other keys may still use
// pools.
constinit thread_local bool thread_is_ending = false;

}  // namespace

// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

/// Numbers in use and live pools, under one mutex. Never destroyed: threads and static pools may
/// outlive every static object.
class [[gnu::visibility("default")]] thread_registry {
 public:
  constexpr thread_registry() noexcept = default;
  thread_registry(const thread_registry&) = delete;
  thread_registry& operator=(const thread_registry&) = delete;

  bool assign(bool wait) noexcept {
    // relaxed: a number that is given back just now is found on the next call
    if (full_.load(std::memory_order_relaxed)) {
      return false;  // without the mutex, which all threads past the table would meet at
    }
    std::unique_lock lock(mutex_, std::defer_lock);
    if (wait) {
      lock.lock();
    } else if (!lock.try_lock()) {
      return false;
    }
    const std::uint32_t number = lowest_free();
    if (number == 0) {
      // relaxed: written under the mutex
      full_.store(true, std::memory_order_relaxed);
      return false;
    }
    // The key's destructor, not that of a thread_local object: it needs no allocation for the first
    // keys of a process, and it runs after the destructors of all thread_local objects, so those
    // may still use pools at full speed.
    if (!prepare() || pthread_setspecific(key_, this) != 0) {
      return false;
    }
    used_[number] = true;
    thread_offset = number * thread_stride;
    return true;
  }

  void add(thread_exit_listener & listener) noexcept {
    const std::lock_guard lock(mutex_);
    (void)prepare();
    listener.next_ = first_;
    if (first_ != nullptr) {
      first_->previous_ = &listener;
    }
    first_ = &listener;
  }

  void remove(thread_exit_listener & listener) noexcept {
    const std::lock_guard lock(mutex_);
    (listener.previous_ != nullptr ? listener.previous_->next_ : first_) = listener.next_;
    if (listener.next_ != nullptr) {
      listener.next_->previous_ = listener.previous_;
    }
  }

 private:
  /// Asks the system for what the registry needs, once; again where it was refused.
  bool prepare() noexcept;

  static void end_thread(void* self) noexcept {
    static_cast<thread_registry*>(self)->leave();
  }

  void leave() noexcept;

  [[nodiscard]] std::uint32_t lowest_free() const noexcept {
    for (std::uint32_t number = 1; number <= max_thread_number; ++number) {
      if (!used_[number]) {
        return number;
      }
    }
    return 0;
  }

  std::mutex mutex_;
  thread_exit_listener* first_ = nullptr;
  std::array<bool, max_thread_number + 1> used_{};
  atomic<bool> full_{false};
  pthread_key_t key_{};
  bool has_key_ = false;
  bool has_fork_handlers_ = false;
};

// Beside `thread_offset`, and visible as that is; see there.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the one registry
[[gnu::visibility("default")]] extern constinit thread_registry thread_numbers;
constinit thread_registry thread_numbers;
static_assert(std::is_trivially_destructible_v<thread_registry>);

bool thread_registry::prepare() noexcept {
  if (!has_key_) {
    has_key_ = pthread_key_create(&key_, &thread_registry::end_thread) == 0;
  }
  if (!has_fork_handlers_) {
    // A child must not inherit the mutex locked by a thread that it does not have.
    has_fork_handlers_ =
        pthread_atfork([] { thread_numbers.mutex_.lock(); }, [] { thread_numbers.mutex_.unlock(); },
                       [] { thread_numbers.mutex_.unlock(); }) == 0;
  }
  return has_key_;
}

void thread_registry::leave() noexcept {
  const auto number = static_cast<std::uint32_t>(thread_offset / thread_stride);
  thread_is_ending = true;
  thread_offset = 0;
  const std::lock_guard lock(mutex_);
  for (thread_exit_listener* listener = first_; listener != nullptr; listener = listener->next_) {
    listener->on_thread_exit(number);
  }
  used_[number] = false;
  // relaxed: written under the mutex
  full_.store(false, std::memory_order_relaxed);
}

bool assign_thread_number(bool wait) noexcept {
  return thread_offset != 0 || (!thread_is_ending && thread_numbers.assign(wait));
}

void thread_exit_listener::register_listener() noexcept {
  thread_numbers.add(*this);
}

void thread_exit_listener::unregister_listener() noexcept {
  thread_numbers.remove(*this);
}

}  // namespace lido::detail
