/// @file
/// Internal. One thread that waits for an item.
#pragma once

#include <chrono>

#include "lido/base/tuning.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/concurrency/parking.hpp"
#include "lido/concurrency/wait_word.hpp"

namespace lido::detail {

/// A place in a queue for one wait, on the stack of the waiting thread.
///
/// Its wait_word decides how the wait ends: an item is given exactly if the waiter knows that it
/// has it. A waiter that was cancelled, or whose time was up, is given nothing.
///
/// Memory ordering: that of wait_word; the waiter sees what happened to the item before.
/// Progress: everything except `wait` is lock-free.
class waiter {
 public:
  waiter() noexcept = default;

  /// Ends the wait without an item; false: it has ended already. Any thread may call it while the
  /// waiter lives.
  bool cancel() noexcept {
    const wait_word::ending before = word_.cancel(0);
    if (before == wait_word::ending::asleep) {
      unpark(word_.address());
    }
    return before != wait_word::ending::too_late;
  }

  /// Sleeps until the wait has ended; false: the deadline came first. The waiter stays awake for a
  /// while first, longer if it is next, and again after an early call. Only for the waiter.
  [[nodiscard]] bool wait(const deadline& until) noexcept {
    while (!stay_awake(until)) {
      word_.begin_sleep();
      if (!sleep(until)) {
        return ended();
      }
      word_.end_sleep();
    }
    return true;
  }

  /// Only for the waiter.
  [[nodiscard]] bool ended() const noexcept { return !word_.open(); }

  /// What was given; null if nothing was. Only for the waiter, after the end of the wait.
  [[nodiscard]] void* item() const noexcept {
    // relaxed: written before wait_word.hpp (2)
    return word_.given() ? item_.load(std::memory_order_relaxed) : nullptr;
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
    while (word_.open() && !is_next_.load(std::memory_order_relaxed)) {
      if (!word_.sleep(until)) {
        return false;
      }
    }
    return true;
  }

  wait_word word_;
  atomic<void*> item_{nullptr};
  atomic<bool> is_next_{false};
  // Used by the queue inside its gate.
  bool called_ = false;  // before there was an item for it
  atomic<waiter*> next_{nullptr};
  atomic<waiter*> previous_{nullptr};
  atomic<bool> linked_{false};
};

}  // namespace lido::detail
