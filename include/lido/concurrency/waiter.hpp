/// @file
/// Internal. One thread that waits for an item.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "lido/base/tuning.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/concurrency/parking.hpp"

namespace lido::detail {

/// waiting: still awake. asleep: has to be woken. given, cancelled: the wait has ended.
enum class waiter_state : std::uint32_t { waiting, asleep, given, cancelled };

/// A place in a queue for one wait, on the stack of the waiting thread.
///
/// A compare-and-swap on one word decides how the wait ends. It is done by the giver, by the waiter
/// when its time is up, or by a thread that cancels the wait. So an item is given exactly if the
/// waiter knows that it has it. A waiter that was cancelled, or whose time was up, is given
/// nothing.
///
/// Memory ordering: the waiter sees what happened to the item before it was given (1, 2).
/// Progress: everything except `wait` is lock-free.
class waiter {
 public:
  waiter() noexcept = default;

  /// Ends the wait without an item; false: it has ended already. Any thread may call it while the
  /// waiter lives.
  bool cancel() noexcept {
    const waiter_state before = end(waiter_state::cancelled);
    if (before == waiter_state::asleep) {
      unpark(&state_);
    }
    return is_open(before);
  }

  /// Sleeps until the wait has ended; false: the deadline came first. The waiter stays awake for a
  /// while first, longer if it is next, and again after an early call. Only for the waiter.
  [[nodiscard]] bool wait(const deadline& until) noexcept {
    while (!stay_awake(until)) {
      swap(waiter_state::waiting, waiter_state::asleep);
      if (!sleep(until)) {
        return !is_open(state());
      }
      swap(waiter_state::asleep, waiter_state::waiting);
    }
    return true;
  }

  /// Only for the waiter.
  [[nodiscard]] bool ended() const noexcept { return !is_open(state()); }

  /// What was given; null if nothing was. Only for the waiter, after the end of the wait.
  [[nodiscard]] void* item() const noexcept {
    // relaxed: written before (2)
    return state() == waiter_state::given ? item_.load(std::memory_order_relaxed) : nullptr;
  }

 private:
  friend class waiter_queue;

  /// Whether the wait has ended meanwhile. The next waiter stays awake for about as long as a
  /// wake-up takes, so it never wastes more than that (Karlin, Li, Manasse, Owicki, SOSP 1991). The
  /// others do not: they would keep threads that have slots from the processors.
  [[nodiscard]] bool stay_awake(const deadline& until) noexcept {
    const deadline enough = hears_call() ? until.but_within(tuning::nanoseconds_awake)
                                         : deadline::after(std::chrono::seconds(0));
    bool over = false;
    do {
      for (int spin = 0; spin < tuning::spins_before_sleep && !over; ++spin) {
        cpu_pause();
        over = ended();
      }
    } while (!over && !enough.passed());
    return over;
  }

  /// Whether this waiter has become the next to be served since it last asked.
  [[nodiscard]] bool hears_call() noexcept {
    // relaxed (2x): a hint; a waiter that misses it sleeps, and is woken
    const bool called = is_next_.load(std::memory_order_relaxed);
    is_next_.store(false, std::memory_order_relaxed);
    return called;
  }

  /// Sleeps until the wait has ended or a call comes; false: the deadline came first.
  [[nodiscard]] bool sleep(const deadline& until) const noexcept {
    // relaxed: as in hears_call
    while (state() == waiter_state::asleep && !is_next_.load(std::memory_order_relaxed)) {
      if (!park(state_, static_cast<std::uint32_t>(waiter_state::asleep), until)) {
        return false;
      }
    }
    return true;
  }

  void swap(waiter_state from, waiter_state to) noexcept {
    auto seen = static_cast<std::uint32_t>(from);
    // relaxed (2x): says only whether a wake-up is needed; (1) is what the waiter acts on
    (void)state_.compare_exchange_strong(seen, static_cast<std::uint32_t>(to),
                                         std::memory_order_relaxed, std::memory_order_relaxed);
  }

  [[nodiscard]] waiter_state state() const noexcept {
    // (1) - this acquire-load synchronizes-with the release-CAS (2), so the item is visible
    return static_cast<waiter_state>(state_.load(std::memory_order_acquire));
  }

  [[nodiscard]] static constexpr bool is_open(waiter_state state) noexcept {
    return state == waiter_state::waiting || state == waiter_state::asleep;
  }

  /// Sets the state to `last` if it is open. Returns the state before.
  waiter_state end(waiter_state last) noexcept {
    // relaxed: only a guess, validated by (2)
    std::uint32_t seen = state_.load(std::memory_order_relaxed);
    while (is_open(static_cast<waiter_state>(seen))) {
      // (2) - this release-CAS synchronizes-with the acquire-load (1), so the waiter sees the item.
      // relaxed on failure: the word is again only a guess
      if (state_.compare_exchange_weak(seen, static_cast<std::uint32_t>(last),
                                       std::memory_order_release, std::memory_order_relaxed)) {
        break;
      }
    }
    return static_cast<waiter_state>(seen);
  }

  atomic<std::uint32_t> state_{static_cast<std::uint32_t>(waiter_state::waiting)};
  atomic<void*> item_{nullptr};
  atomic<bool> is_next_{false};
  // Used by the queue inside its gate.
  bool called_ = false;  // before there was an item for it
  atomic<waiter*> next_{nullptr};
  atomic<waiter*> previous_{nullptr};
  atomic<bool> linked_{false};
};

}  // namespace lido::detail
