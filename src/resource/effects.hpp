/// @file
/// Internal. Threads and callbacks that wait for a resource, in the order in which they came; and
/// what an event of the kernel leaves to be done without the mutex.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "lease_monitor.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/wait_word.hpp"
#include "lido/resource/deadline_heap.hpp"
#include "lido/resource/hooks.hpp"
#include "lido/resource/slot.hpp"
#include "lido/resource/stats.hpp"

namespace lido::inline v0::detail {

class slot_group;

/// What a failed acquire says: the numbers of its group at that moment.
struct refusal {
  resource_pool_stats counts;
  std::size_t total_live = 0;               ///< of all keys
  std::size_t max_total = 0;                ///< 0: a pool without keys
  std::shared_ptr<const std::string> pool;  ///< with the key; null without keys
  std::shared_ptr<const create_failure_text> error;
  holder_list holders;
};

/// What a waiter was given.
enum class grant_kind : std::uint8_t {
  resource,  ///< fit for use
  validate,  ///< to be validated by the waiter, which uses it if it is valid
  create     ///< a reserved slot: the waiter creates the resource
};

/// One wait of a thread, on its stack, or of a callback, on the heap.
///
/// Everything except `word` is guarded by the pool's mutex; `grant` and `kind` are the waiter's
/// once the wait has ended.
class alignas(no_false_sharing) acquire_waiter : public heap_hook<acquire_waiter> {
 public:
  /// What runs a callback whose wait has ended, without locks; null: a thread sleeps.
  using delivery = void (*)(acquire_waiter&) noexcept;

  acquire_waiter(deadline latest, std::uint32_t of_thread, delivery to = nullptr) noexcept
      : until(latest), thread(of_thread), deliver(to) {}
  acquire_waiter(const acquire_waiter&) = delete;
  acquire_waiter& operator=(const acquire_waiter&) = delete;
  ~acquire_waiter() = default;

  [[nodiscard]] acquire_failure cause() const noexcept {
    return static_cast<acquire_failure>(word.cause());
  }
  [[nodiscard]] bool is_callback() const noexcept { return deliver != nullptr; }

  // NOLINTBEGIN(*-non-private-member-variables-in-classes): a node of the kernel
  wait_word word;
  deadline until;              ///< in real time
  const std::uint32_t thread;  ///< 0: a callback
  const delivery deliver;
  slot_group* group = nullptr;
  slot_grant grant;
  grant_kind kind = grant_kind::resource;
  nanos since = 0;         ///< real time
  nanos wakes_at = never;  ///< the same: when it is to look next, where it looks for itself
  std::int64_t order = 0;  ///< of arrival, over all groups
  nanos called_at = 0;     ///< when it was first woken to look for itself; 0: not yet
  bool is_called = false;  ///< and it has not looked yet
  bool may_look = true;    ///< false: its thread is in a callback, and may be for long
  bool has_time = true;    ///< for a validation of its own
  refusal why;             ///< of a wait that ends without a resource
  bool holds = false;      ///< its thread holds a resource of the pool
  bool is_urgent = false;  ///< first, and worth a resource of the reserve
                           // NOLINTEND(*-non-private-member-variables-in-classes)

 private:
  friend class wait_queue;
  bool linked_ = false;
  acquire_waiter* next_ = nullptr;
  acquire_waiter* previous_ = nullptr;
};

/// First in, first out. Removing one from the middle is as cheap as from an end.
class wait_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  /// The urgent ones in front of all others, up to `most`.
  [[nodiscard]] std::uint32_t count_urgent(std::uint32_t most) const noexcept {
    std::uint32_t found = 0;
    for (const acquire_waiter* one = first_; one != nullptr && one->is_urgent && found != most;
         one = one->next_) {
      ++found;
    }
    return found;
  }
  [[nodiscard]] acquire_waiter* first() const noexcept { return first_; }
  [[nodiscard]] static acquire_waiter* after(const acquire_waiter& waiter) noexcept {
    return waiter.next_;
  }
  [[nodiscard]] static bool contains(const acquire_waiter& waiter) noexcept {
    return waiter.linked_;
  }
  /// Before `next`; null: last.
  void insert(acquire_waiter& waiter, acquire_waiter* next) noexcept {
    waiter.previous_ = next != nullptr ? next->previous_ : last_;
    waiter.next_ = next;
    (waiter.previous_ != nullptr ? waiter.previous_->next_ : first_) = &waiter;
    (next != nullptr ? next->previous_ : last_) = &waiter;
    waiter.linked_ = true;
    ++size_;
  }
  void push_back(acquire_waiter& waiter) noexcept { insert(waiter, nullptr); }
  /// Requires: it is in this list.
  void remove(acquire_waiter& waiter) noexcept {
    (waiter.previous_ != nullptr ? waiter.previous_->next_ : first_) = waiter.next_;
    (waiter.next_ != nullptr ? waiter.next_->previous_ : last_) = waiter.previous_;
    waiter.linked_ = false;
    --size_;
  }
  void append(wait_queue& other) noexcept {
    while (acquire_waiter* const waiter = other.pop_front()) {
      push_back(*waiter);
    }
  }
  /// Null if it is empty.
  acquire_waiter* pop_front() noexcept {
    acquire_waiter* const waiter = first_;
    if (waiter != nullptr) {
      remove(*waiter);
    }
    return waiter;
  }

 private:
  acquire_waiter* first_ = nullptr;
  acquire_waiter* last_ = nullptr;
  std::uint32_t size_ = 0;
};

/// Those of all groups, the earliest deadline first.
using waiter_deadlines = deadline_heap<acquire_waiter>;

/// Slots in a row, linked by `record.next_task`.
class slot_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void push(pool_slot& slot) noexcept {
    slot.record.next_task = nullptr;
    (first_ != nullptr ? last_->record.next_task : first_) = &slot;
    last_ = &slot;
  }
  /// Null if it is empty.
  pool_slot* pop() noexcept {
    pool_slot* const slot = first_;
    if (slot != nullptr) {
      first_ = std::exchange(slot->record.next_task, nullptr);
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
};

/// A lease that is out for long, or has come back after all.
struct lease_report {
  pool_event event;
  std::shared_ptr<const std::string> pool;  ///< with the key; null without keys
};

using sleep_word = const atomic<std::uint32_t>*;

/// What `pool_core` does once it has unlocked the mutex; see `pool_core::run` for the order.
struct effects {
  static constexpr std::size_t room = 16;

  std::array<sleep_word, room + 4> wake{};  ///< threads; they may be gone
  std::size_t wakes = 0;
  slot_queue start;    ///< tasks for the runner
  slot_queue destroy;  ///< closing; `on_destroyed` follows for each
  wait_queue call;     ///< callbacks whose wait has ended
  std::list<lease_report> tell;
  std::uint32_t most_threads = 0;  ///< that tasks of the pool may need at once
  bool drained = false;
  bool more = false;  ///< call `on_more` afterwards: there was no room

  [[nodiscard]] bool is_full() const noexcept { return wakes >= room; }
};

}  // namespace lido::inline v0::detail
