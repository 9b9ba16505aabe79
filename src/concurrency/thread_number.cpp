#include "lido/concurrency/thread_number.hpp"

#include <pthread.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <new>

#include "lido/base/mutation.hpp"
#include "thread_system.hpp"

namespace lido::detail {

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
    std::unique_lock lock(mutex_, std::defer_lock);
    if (wait) {
      lock.lock();
    } else if (!lock.try_lock()) {
      return false;
    }
    const std::uint32_t number = lowest_free();
    if (number == 0 || !exit_hook_.arm(this)) {
      return false;
    }
    used_[number] = !broken(mutation::shared_number);
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
  thread_registry() noexcept {
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

  registry_mutex mutex_;
  thread_exit_listener* first_ = nullptr;
  std::array<bool, max_thread_number + 1> used_{};
  thread_exit_hook exit_hook_{&thread_registry::end_thread};
};

void thread_registry::leave() noexcept {
  const auto number = static_cast<std::uint32_t>(thread_offset / thread_stride);
  mark_thread_ending();
  thread_offset = 0;
  const std::lock_guard lock(mutex_);
  for (thread_exit_listener* listener = first_; listener != nullptr; listener = listener->next_) {
    listener->on_thread_exit(number);
  }
  used_[number] = false;
}

bool assign_thread_number(bool wait) noexcept {
  return thread_offset != 0 || (!thread_is_ending() && thread_registry::instance().assign(wait));
}

void thread_exit_listener::register_listener() noexcept {
  thread_registry::instance().add(*this);
}

void thread_exit_listener::unregister_listener() noexcept {
  thread_registry::instance().remove(*this);
}

}  // namespace lido::detail
