#include <limits>

#include "platform.hpp"

namespace lido::inline v0::detail::platform {

namespace {

constexpr std::uint32_t unlocked = 0;
constexpr std::uint32_t locked = 1;
constexpr std::uint32_t awaited = 2;  ///< locked, and threads may be asleep in `lock`

}  // namespace

bool static_mutex::try_lock() noexcept {
  std::uint32_t seen = unlocked;
  // (1) - this acquire-CAS synchronizes-with the release-exchange (3), so the new owner sees what
  // the previous owner wrote
  // relaxed: a caller that finds the mutex locked reads no guarded data
  const bool is_mine = state_.compare_exchange_strong(seen, locked, std::memory_order_acquire,
                                                      std::memory_order_relaxed);
  if (is_mine) {
    tell_acquire(this);
  }
  return is_mine;
}

void static_mutex::lock() noexcept {
  if (try_lock()) {
    return;
  }
  // (2) - this acquire-exchange synchronizes-with the release-exchange (3), as (1) does
  while (state_.exchange(awaited, std::memory_order_acquire) != unlocked) {
    if (!park(&state_, awaited, (std::numeric_limits<std::int64_t>::max)())) {
      // The process is ending, and the system has already ended the thread that locked the mutex.
      break;
    }
  }
  tell_acquire(this);
}

void static_mutex::unlock() noexcept {
  tell_release(this);
  // (3) - this release-exchange synchronizes-with the acquire-CAS (1) and the acquire-exchange (2)
  if (state_.exchange(unlocked, std::memory_order_release) == awaited) {
    unpark(&state_);
  }
}

}  // namespace lido::inline v0::detail::platform
