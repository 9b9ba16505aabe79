/// @file
/// Internal. What a resource pool stores for each thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/resource/slot.hpp"

namespace lido::inline v0::detail {

/// What a pool stores for each thread: the resources that the thread had last, and whether the
/// thread is inside a `leaving_guard`. In a pool with keys, the state stores one resource for each
/// of a few hashes.
struct alignas(no_false_sharing) thread_state {
  static constexpr std::size_t hints = 8;
  std::array<relaxed<pool_slot*>, hints> last{};
  atomic<std::uint32_t> leaving{0};
};

/// Number of states in a pool. Threads with higher numbers, and threads without a number, share the
/// first state.
inline constexpr std::size_t thread_states =
    (max_thread_number < 128 ? max_thread_number : 128) + 1;

/// Number of pools whose states are interleaved, thread by thread. So one page holds the states of
/// the first threads in all of these pools. Also the distance between two neighbouring states of
/// one pool.
inline constexpr std::size_t pools_side_by_side = 8;

/// Returns the index of the calling thread's own state, or 0 if the thread has none.
[[nodiscard]] inline std::size_t own_thread_state() noexcept {
  const std::size_t number = own_thread_offset() / thread_stride;
  return number < thread_states ? number : 0;
}

/// Returns true for an object in stack frames near the caller's, which other threads do not
/// normally destroy. May also return true for memory next to the stack, even that of another
/// thread. A result of false proves nothing.
[[nodiscard, LIDO_ALWAYS_INLINE]] inline bool is_near_in_stack(const void* object) noexcept {
  constexpr std::uintptr_t reach = std::uintptr_t{16} * 1024;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): compared, never dereferenced
  const auto to = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at); };
  const char here{};
  return to(object) - to(&here) + reach < 2 * reach;
}

/// Protects a thread that gives up its slot but still reads the pool for a moment. Until the guard
/// ends, neither the slot's group nor the pool is destroyed.
class leaving_guard {
 public:
  // relaxed (whole function): slot.hpp (2) publishes the value before any thread can need it
  explicit leaving_guard(thread_state& mine) noexcept : mine_(&mine) {
    if (own_thread_state() != 0) {
      mine.leaving.store(1, std::memory_order_relaxed);
    } else {
      mine.leaving.fetch_add(1, std::memory_order_relaxed);
    }
  }
  leaving_guard(const leaving_guard&) = delete;
  leaving_guard& operator=(const leaving_guard&) = delete;
  ~leaving_guard() { end(); }
  void end() noexcept {
    if (mine_ == nullptr) {
      return;
    }
    if (own_thread_state() != 0) {
      // (1) - this release-store synchronizes-with the acquire-load pool_gate.hpp (1)
      mine_->leaving.store(0, std::memory_order_release);
    } else {
      // (2) - this release-fetch-sub synchronizes-with the acquire-load pool_gate.hpp (1)
      mine_->leaving.fetch_sub(1, std::memory_order_release);
    }
    mine_ = nullptr;
  }

 private:
  thread_state* mine_;
};

}  // namespace lido::inline v0::detail
