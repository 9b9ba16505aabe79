#include <pthread.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <limits>

#if defined(__FreeBSD__)
#include <sys/types.h>
#include <sys/umtx.h>
#if __has_include(<sys/membarrier.h>)  // FreeBSD 14.1
#include <sys/membarrier.h>
#define LIDO_MEMBARRIER
#endif
#elif defined(__APPLE__) && __has_include(<os/os_sync_wait_on_address.h>)
#include <Availability.h>
#if defined(__MAC_OS_X_VERSION_MIN_REQUIRED) && __MAC_OS_X_VERSION_MIN_REQUIRED >= 140400
#include <os/os_sync_wait_on_address.h>
#define LIDO_OS_SYNC
#endif
#endif

#include "../platform.hpp"

namespace lido::inline v0::detail::platform {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// Converts a point in time or a duration.
[[maybe_unused]] [[nodiscard]] timespec to_timespec(std::int64_t nanoseconds) noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  timespec time{};
  time.tv_sec = static_cast<std::time_t>(nanoseconds / second);
  time.tv_nsec = static_cast<long>(nanoseconds % second);
  return time;
}

/// Returns the time until `end`; 0 if `end` has passed.
[[maybe_unused]] [[nodiscard]] std::int64_t time_until(std::int64_t end) noexcept {
  const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
  return end > now.count() ? end - now.count() : 0;
}

}  // namespace

// ---- the heavy fence
// -----------------------------------------------------------------------------

#ifdef LIDO_MEMBARRIER

bool register_heavy_fence() noexcept {
  return ::membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

bool heavy_fence() noexcept {
  return ::membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

#else

bool register_heavy_fence() noexcept {
  return false;
}

bool heavy_fence() noexcept {
  return false;
}

#endif

// ---- sleeping on a word
// --------------------------------------------------------------------------

#if defined(__FreeBSD__)

// In the child of a fork, the kernel's list of sleeping threads is empty, so nothing need be reset.
bool on_fork(void (*before)(), void (*parent)(), void (*child)()) noexcept {
  return pthread_atfork(before, parent, child) == 0;
}

// Source: _umtx_op(2).
bool park(const void* word, std::uint32_t expected, std::int64_t end) noexcept {
  // NOLINTBEGIN(cppcoreguidelines-pro-type-const-cast,performance-no-int-to-ptr): the call's types
  _umtx_time time{};
  time._timeout = to_timespec(end);
  time._flags = UMTX_ABSTIME;
  time._clockid = CLOCK_MONOTONIC;
  const bool is_never = end == never;
  const int result = ::_umtx_op(const_cast<void*>(word), UMTX_OP_WAIT_UINT_PRIVATE, expected,
                                is_never ? nullptr : std::bit_cast<void*>(sizeof(time)),
                                is_never ? nullptr : &time);
  // NOLINTEND(cppcoreguidelines-pro-type-const-cast,performance-no-int-to-ptr)
  return result == 0 || errno != ETIMEDOUT;
}

void unpark(const void* word) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the call takes no pointer to const
  (void)::_umtx_op(const_cast<void*>(word), UMTX_OP_WAKE_PRIVATE, 1, nullptr, nullptr);
}

#elif defined(LIDO_OS_SYNC)

bool on_fork(void (*before)(), void (*parent)(), void (*child)()) noexcept {
  return pthread_atfork(before, parent, child) == 0;
}

bool park(const void* word, std::uint32_t expected, std::int64_t end) noexcept {
  // NOLINTBEGIN(cppcoreguidelines-pro-type-const-cast): the calls take no pointers to const
  if (end == never) {
    (void)::os_sync_wait_on_address(const_cast<void*>(word), expected, sizeof(expected),
                                    OS_SYNC_WAIT_ON_ADDRESS_NONE);
    return true;
  }
  const std::int64_t time = time_until(end);
  if (time == 0) {  // the call refuses 0
    return false;
  }
  const int result = ::os_sync_wait_on_address_with_timeout(
      const_cast<void*>(word), expected, sizeof(expected), OS_SYNC_WAIT_ON_ADDRESS_NONE,
      OS_CLOCK_MACH_ABSOLUTE_TIME, static_cast<std::uint64_t>(time));
  // NOLINTEND(cppcoreguidelines-pro-type-const-cast)
  return result >= 0 || errno != ETIMEDOUT;
}

void unpark(const void* word) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the call takes no pointer to const
  (void)::os_sync_wake_by_address_any(const_cast<void*>(word), sizeof(std::uint32_t),
                                      OS_SYNC_WAKE_BY_ADDRESS_NONE);
}

#else

namespace {

/// A sleeping thread. The object lies on the stack of that thread.
class sleeper {
 public:
  explicit sleeper(const void* word) noexcept : word_(word) {
    pthread_condattr_t kind;
    (void)pthread_condattr_init(&kind);
#ifndef __APPLE__  // macOS waits for a duration, not until a point in time
    (void)pthread_condattr_setclock(&kind, CLOCK_MONOTONIC);
#endif
    (void)pthread_cond_init(&called_, &kind);
    (void)pthread_condattr_destroy(&kind);
  }
  sleeper(const sleeper&) = delete;
  sleeper& operator=(const sleeper&) = delete;
  ~sleeper() {
    (void)pthread_cond_destroy(&called_);
  }

  /// Unlocks `mutex`, sleeps, and locks it again. Returns the error number. Requires: `mutex` is
  /// locked.
  [[nodiscard]] int sleep(pthread_mutex_t& mutex, std::int64_t end) noexcept {
    if (end == never) {
      return pthread_cond_wait(&called_, &mutex);
    }
#ifdef __APPLE__
    const timespec time = to_timespec(time_until(end));
    return pthread_cond_timedwait_relative_np(&called_, &mutex, &time);
#else
    // This is a time of the clock that std::chrono::steady_clock reads.
    const timespec moment = to_timespec(end);
    return pthread_cond_timedwait(&called_, &mutex, &moment);
#endif
  }

  void wake() noexcept {
    (void)pthread_cond_signal(&called_);
  }

  [[nodiscard]] bool sleeps_on(const void* word) const noexcept {
    return word_ == word;
  }

  sleeper* next = nullptr;

 private:
  const void* word_;
  pthread_cond_t called_{};
};

/// The threads that sleep on words with the same hash. Each thread is in the list until another
/// thread wakes it, or until it wakes up by itself.
// Source: WTF::ParkingLot of WebKit, Locking in WebKit, 2016.
class alignas(128) sleepers {
 public:
  bool sleep(const void* word, std::uint32_t expected, std::int64_t end) noexcept {
    sleeper self(word);
    bool is_late = false;
    (void)pthread_mutex_lock(&mutex_);
    // relaxed: a thread that changes the word locks the mutex afterwards
    if (static_cast<const std::atomic<std::uint32_t>*>(word)->load(std::memory_order_relaxed) ==
        expected) {
      *link_to(nullptr) = &self;
      const int error = self.sleep(mutex_, end);
      if (sleeper** const link = link_to(&self); *link != nullptr) {  // wake_one did not wake it
        *link = self.next;
        is_late = error == ETIMEDOUT;
      }
    }
    (void)pthread_mutex_unlock(&mutex_);
    return !is_late;
  }

  /// Wakes one thread that sleeps on `word`. The mutex stays locked during the wake-up, since the
  /// sleeper might no longer exist once the mutex is unlocked.
  void wake_one(const void* word) noexcept {
    (void)pthread_mutex_lock(&mutex_);
    sleeper** link = &first_;
    while (*link != nullptr && !(*link)->sleeps_on(word)) {
      link = &(*link)->next;
    }
    if (sleeper* const found = *link; found != nullptr) {
      *link = found->next;
      found->wake();
    }
    (void)pthread_mutex_unlock(&mutex_);
  }

 private:
  /// Returns the link that points to `which`, or the last link of the list if `which` is not in the
  /// list. Requires: mutex_ is locked.
  [[nodiscard]] sleeper** link_to(const sleeper* which) noexcept {
    sleeper** link = &first_;
    while (*link != which && *link != nullptr) {
      link = &(*link)->next;
    }
    return link;
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  sleeper* first_ = nullptr;
};

using sleeper_table = std::array<sleepers, 64>;

constinit sleeper_table table{};

/// Finds the list for `word` by Fibonacci hashing, because the words of waiters lie in structures
/// on many stacks.
[[nodiscard]] sleepers& sleepers_of(const void* word) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): see unix/reports.cpp
  const std::uint64_t key = reinterpret_cast<std::uintptr_t>(word) / sizeof(std::uint32_t);
  return table[(key * 0x9E3779B97F4A7C15U) >> 58U];
}

}  // namespace

// In the child of a fork, none of the sleeping threads exists, nor does a thread that would unlock
// a locked mutex of the table. So the table is reset in the child. That happens before other
// handlers of Lido wake a thread, because such handlers run in the order of their registration.
bool on_fork(void (*before)(), void (*parent)(), void (*child)()) noexcept {
  constinit static std::atomic<bool> is_watched{false};
  // relaxed: registering the handler twice does no harm
  if (!is_watched.load(std::memory_order_relaxed)) {
    if (pthread_atfork(nullptr, nullptr, [] { table = sleeper_table(); }) != 0) {
      return false;
    }
    // relaxed: as above
    is_watched.store(true, std::memory_order_relaxed);
  }
  return pthread_atfork(before, parent, child) == 0;
}

bool park(const void* word, std::uint32_t expected, std::int64_t end) noexcept {
  return sleepers_of(word).sleep(word, expected, end);
}

void unpark(const void* word) noexcept {
  sleepers_of(word).wake_one(word);
}

#endif

}  // namespace lido::inline v0::detail::platform
