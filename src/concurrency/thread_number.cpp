#include "lido/concurrency/thread_number.hpp"

#include <pthread.h>

#include <array>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>

#include "lido/concurrency/atomic.hpp"

namespace lido::detail {

namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread

// Set for good when the thread's number is taken back: destructors of other keys may still use
// pools.
constinit thread_local bool thread_is_ending = false;

// How many numbers had ever been given back when this thread found the table full: it asks again
// only after another one was, and takes no mutex meanwhile.
constinit thread_local std::uint64_t refused_at = std::numeric_limits<std::uint64_t>::max();

// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

/// Numbers in use and live pools, under one mutex. Never destroyed: threads and static pools may
/// outlive every static object.
class thread_registry {
 public:
  static thread_registry& instance() noexcept {
    // Placed into static storage so that no destructor ever runs.
    alignas(thread_registry) static std::array<std::byte, sizeof(thread_registry)> storage;
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the one registry
    static auto* const registry = ::new (storage.data()) thread_registry;
    return *registry;
  }

  bool assign(bool wait) noexcept {
    // relaxed: a number that is given back just now is found on the next call
    if (returned_.load(std::memory_order_relaxed) == refused_at) {
      return false;
    }
    std::unique_lock lock(mutex_, std::defer_lock);
    if (wait) {
      lock.lock();
    } else if (!lock.try_lock()) {
      return false;
    }
    const std::uint32_t number = lowest_free();
    if (number == 0 || !has_key_) {
      // relaxed: written under the mutex
      refused_at = returned_.load(std::memory_order_relaxed);
      return false;
    }
    // The key's destructor, not that of a thread_local object: it needs no allocation for the first
    // keys of a process, and it runs after the destructors of all thread_local objects, so those
    // may still use pools at full speed.
    if (pthread_setspecific(key_, this) != 0) {
      return false;
    }
    used_[number] = true;
    thread_offset = number * thread_stride;
    return true;
  }

  void add(thread_exit_listener& listener) noexcept {
    const std::lock_guard lock(mutex_);
    listener.next_ = first_;
    if (first_ != nullptr) {
      first_->previous_ = &listener;
    }
    first_ = &listener;
  }

  void remove(thread_exit_listener& listener) noexcept {
    const std::lock_guard lock(mutex_);
    (listener.previous_ != nullptr ? listener.previous_->next_ : first_) = listener.next_;
    if (listener.next_ != nullptr) {
      listener.next_->previous_ = listener.previous_;
    }
  }

 private:
  thread_registry() noexcept
      : has_key_(pthread_key_create(&key_, &thread_registry::end_thread) == 0) {
    // A child must not inherit the mutex locked by a thread that it does not have.
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().mutex_.unlock(); });
  }

  static void end_thread(void* registry) noexcept {
    static_cast<thread_registry*>(registry)->leave();
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
  atomic<std::uint64_t> returned_{0};
  pthread_key_t key_{};
  bool has_key_;
};

void thread_registry::leave() noexcept {
  const auto number = static_cast<std::uint32_t>(thread_offset / thread_stride);
  thread_is_ending = true;
  thread_offset = 0;
  const std::lock_guard lock(mutex_);
  for (thread_exit_listener* listener = first_; listener != nullptr; listener = listener->next_) {
    listener->on_thread_exit(number);
  }
  used_[number] = false;
  // relaxed: only a reason to look under the mutex
  returned_.fetch_add(1, std::memory_order_relaxed);
}

bool assign_thread_number(bool wait) noexcept {
  return thread_offset != 0 || (!thread_is_ending && thread_registry::instance().assign(wait));
}

void thread_exit_listener::register_listener() noexcept {
  thread_registry::instance().add(*this);
}

void thread_exit_listener::unregister_listener() noexcept {
  thread_registry::instance().remove(*this);
}

}  // namespace lido::detail
