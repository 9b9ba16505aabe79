/// @file
/// Internal. What must be done after an event of the kernel, once the mutex is unlocked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "acquire_queue.hpp"
#include "lido/base/assert.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/resource/slot.hpp"
#include "lido/resource/stats.hpp"

namespace lido::inline v0::detail {

/// A queue of slots, linked by `record.next_task`.
class slot_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  void push(pool_slot& slot) noexcept {
    ++size_;
    slot.record.next_task = nullptr;
    (first_ != nullptr ? last_->record.next_task : first_) = &slot;
    last_ = &slot;
  }
  /// Removes the first slot and returns it, or returns null if the queue is empty.
  pool_slot* pop() noexcept {
    pool_slot* const slot = first_;
    if (slot != nullptr) {
      first_ = std::exchange(slot->record.next_task, nullptr);
      --size_;
    }
    return slot;
  }
  void append(slot_queue& other) noexcept {
    while (pool_slot* const slot = other.pop()) {
      push(*slot);
    }
  }

 private:
  pool_slot* first_ = nullptr;
  pool_slot* last_ = nullptr;
  std::uint32_t size_ = 0;
};

/// A report that a lease has been held for a long time, or that such a lease has been returned
/// after all.
struct lease_report {
  pool_event event;
  std::shared_ptr<const std::string> pool;  ///< names the pool and the key; null without keys
};

/// Tasks, callbacks and reports that the threads of a pool may run later.
struct pool_tasks {
  slot_queue start;    ///< tasks for the runner
  acquire_queue call;  ///< callbacks whose wait has ended
  std::list<lease_report> tell;
};

/// What `kernel_shell` does once it has unlocked the mutex; see `kernel_shell::run` for the order.
struct effects : pool_tasks {
  /// An event with this many wakes begins no further step.
  static constexpr std::size_t most_wakes = 16;
  static constexpr std::size_t most_in_step = 4;  ///< how many wakes a single step adds at most

  std::array<sleep_word, most_wakes + most_in_step>
      wake{};  ///< words of the threads to wake; a thread may be gone by then
  std::size_t wakes = 0;
  slot_queue interrupt;            ///< slots to interrupt; `on_interrupted` is called after each
  slot_queue destroy;              ///< slots to destroy; `on_destroyed` is called after each
  std::uint32_t most_threads = 0;  ///< how many threads the pool's tasks may need at once
  bool drained = false;
  bool more = false;  ///< the event stopped early; `on_more` must be called to continue it

  /// Returns true if no further step of this event may wake threads.
  [[nodiscard]] bool is_full() const noexcept { return wakes >= most_wakes; }
  void wake_later(sleep_word word) noexcept {
    LIDO_ASSERT(wakes < wake.size(), "an event wakes more threads than its steps may");
    wake[wakes++] = word;
  }
};

}  // namespace lido::inline v0::detail
