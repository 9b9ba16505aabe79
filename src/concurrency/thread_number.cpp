#include "lido/concurrency/thread_number.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <type_traits>

#include "thread_system.hpp"

namespace lido::detail {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread

constinit thread_local std::size_t thread_offset = 0;

namespace {

// A thread that forks holds the registry's mutex, and fork handlers of others may use pools.
constinit thread_local bool thread_is_forking = false;

}  // namespace
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

// With the visibility of `thread_offset`; see there.
#pragma GCC visibility push(default)

/// Numbers in use and live pools, under one mutex. Never destroyed: threads and static pools may
/// outlive every static object.
// NOLINTNEXTLINE(cppcoreguidelines-special-member-functions): a destructor of its own would not be
class thread_registry {  // trivial, and a global that outlives all others must not have one
 public:
  constexpr thread_registry() noexcept = default;
  thread_registry(const thread_registry&) = delete;
  thread_registry& operator=(const thread_registry&) = delete;

  bool assign() noexcept;
  void add(thread_exit_listener& listener) noexcept;
  void remove(thread_exit_listener& listener) noexcept;

  /// Registers the fork handlers once; tries again if the system has refused.
  void watch_forks() noexcept;

  /// False if this process was made from one with pools, but not by fork.
  [[nodiscard]] bool is_of_this_process() const noexcept {
    // relaxed: in one process only one value is ever stored
    const pid_t process = process_.load(std::memory_order_relaxed);
    return process == 0 || process == ::getpid();
  }

 private:
  [[nodiscard]] std::unique_lock<registry_mutex> lock_unless_forking() noexcept;
  bool prepare() noexcept;
  void leave() noexcept;
  void before_fork() noexcept;
  void after_fork() noexcept;
  void after_fork_in_child() noexcept;

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
  registry_word<bool> full_{false};
  thread_exit_hook exit_hook_;
  bool has_fork_handlers_ = false;
  registry_word<pid_t> process_{0};
};

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the one registry
extern constinit thread_registry thread_numbers;
constinit thread_registry thread_numbers;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::is_trivially_destructible_v<thread_registry>);

#pragma GCC visibility pop

bool thread_registry::assign() noexcept {
  // relaxed: a number that is given back just now is found on the next call
  if (thread_is_forking || full_.load(std::memory_order_relaxed)) {
    return false;  // without the mutex, which all threads past the table would meet at
  }
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    return false;
  }
  const std::uint32_t number = lowest_free();
  if (number == 0) {
    // relaxed: written under the mutex
    full_.store(true, std::memory_order_relaxed);
    return false;
  }
  if (!prepare() || !exit_hook_.arm(this)) {
    return false;
  }
  used_[number] = true;
  thread_offset = number * thread_stride;
  return true;
}

void thread_registry::add(thread_exit_listener& listener) noexcept {
  const std::unique_lock lock = lock_unless_forking();
  (void)prepare();
  listener.next_ = first_;
  if (first_ != nullptr) {
    first_->previous_ = &listener;
  }
  first_ = &listener;
}

void thread_registry::remove(thread_exit_listener& listener) noexcept {
  const std::unique_lock lock = lock_unless_forking();
  (listener.previous_ != nullptr ? listener.previous_->next_ : first_) = listener.next_;
  if (listener.next_ != nullptr) {
    listener.next_->previous_ = listener.previous_;
  }
}

std::unique_lock<registry_mutex> thread_registry::lock_unless_forking() noexcept {
  if (thread_is_forking) {
    return {};
  }
  require_own_process();
  return std::unique_lock(mutex_);
}

/// Asks the system once for what the registry needs; tries again if it has refused. Returns whether
/// threads can have numbers.
bool thread_registry::prepare() noexcept {
  const bool has_hook =
      exit_hook_.prepare([](void* registry) { static_cast<thread_registry*>(registry)->leave(); });
  // relaxed: see is_of_this_process
  if (!has_fork_handlers_ || process_.load(std::memory_order_relaxed) == 0) {
    watch_forks();
    // relaxed: as above
    process_.store(::getpid(), std::memory_order_relaxed);
  }
  return has_hook;
}

void thread_registry::watch_forks() noexcept {
  if (!has_fork_handlers_) {
    has_fork_handlers_ =
        pthread_atfork([] { thread_numbers.before_fork(); }, [] { thread_numbers.after_fork(); },
                       [] { thread_numbers.after_fork_in_child(); }) == 0;
  }
}

/// Runs when the library is loaded, so that fork locks the mutex after what handlers of users lock.
/// A thread that constructs a pool under a lock of the user locks in the same order. Runs after the
/// constructor of the registry of checked pools, since a thread with this mutex may look into it.
[[gnu::constructor(1002)]] void watch_forks_from_the_start() noexcept {
  thread_numbers.watch_forks();
}

void thread_registry::leave() noexcept {
  const auto number = static_cast<std::uint32_t>(thread_offset / thread_stride);
  mark_thread_ending();
  thread_offset = 0;
  const std::lock_guard lock(mutex_);
  for (thread_exit_listener* listener = first_; listener != nullptr; listener = listener->next_) {
    listener->on_thread_exit(number);
  }
  used_[number] = false;
  // relaxed: written under the mutex
  full_.store(false, std::memory_order_relaxed);
}

/// A child must not inherit the mutex locked by a thread that it does not have.
void thread_registry::before_fork() noexcept {
  mutex_.lock();
  thread_is_forking = true;
}

void thread_registry::after_fork() noexcept {
  thread_is_forking = false;
  mutex_.unlock();
}

void thread_registry::after_fork_in_child() noexcept {
  // relaxed: there is one thread
  if (process_.load(std::memory_order_relaxed) != 0) {
    // relaxed: as above
    process_.store(::getpid(), std::memory_order_relaxed);
  }
  const auto survivor = static_cast<std::uint32_t>(thread_offset / thread_stride);
  for (thread_exit_listener* listener = first_; listener != nullptr; listener = listener->next_) {
    listener->on_fork(survivor);
  }
  used_.fill(false);
  used_[survivor] = true;  // number 0 is never given out
  // relaxed: there is one thread
  full_.store(false, std::memory_order_relaxed);
  after_fork();
}

void require_own_process() noexcept {
  if (!thread_numbers.is_of_this_process()) {
    (void)std::fputs(
        "lido: this process was made by clone, vfork or _Fork from one that has pools. "
        "These run no fork handlers, so pools cannot be used here. Use fork.\n",
        stderr);
    std::abort();
  }
}

bool assign_thread_number() noexcept {
  return thread_offset != 0 || (!thread_is_ending() && thread_numbers.assign());
}

void thread_exit_listener::register_listener() noexcept {
  thread_numbers.add(*this);
}

void thread_exit_listener::unregister_listener() noexcept {
  thread_numbers.remove(*this);
}

}  // namespace lido::detail
