/// @file
/// Internal. Waiters in the order in which they are served.
#pragma once

#include <cstdint>

#include "acquire_waiter.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/deadline_heap.hpp"

namespace lido::inline v0::detail {

/// A first-in, first-out list of waiters. Removing a waiter from the middle costs no more than
/// removing one from an end.
class acquire_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  /// Returns the number of urgent waiters at the front of the list, but at most `most`.
  [[nodiscard]] std::uint32_t count_urgent(std::uint32_t most) const noexcept {
    std::uint32_t found = 0;
    for (const acquire_waiter* one = first_; one != nullptr && one->came.is_urgent && found != most;
         one = after(*one)) {
      ++found;
    }
    return found;
  }
  [[nodiscard]] acquire_waiter* first() const noexcept { return first_; }
  /// Returns the waiter behind the first `count` waiters, or null if the list has no more than
  /// `count` waiters.
  [[nodiscard]] acquire_waiter* after_first(std::uint32_t count) const noexcept {
    acquire_waiter* waiter = first_;
    for (; count != 0 && waiter != nullptr; --count) {
      waiter = after(*waiter);
    }
    return waiter;
  }
  [[nodiscard]] static acquire_waiter* after(const acquire_waiter& waiter) noexcept {
    return waiter.links.next;
  }
  [[nodiscard]] static bool contains(const acquire_waiter& waiter) noexcept {
    return waiter.links.is_linked;
  }
  /// Inserts a waiter before `next`, or at the end if `next` is null.
  void insert(acquire_waiter& waiter, acquire_waiter* next) noexcept {
    queue_links& links = waiter.links;
    LIDO_ASSERT(!links.is_linked, "a waiter joins two queues");
    links.previous = next != nullptr ? next->links.previous : last_;
    links.next = next;
    (links.previous != nullptr ? links.previous->links.next : first_) = &waiter;
    (next != nullptr ? next->links.previous : last_) = &waiter;
    links.is_linked = true;
    ++size_;
  }
  void push_back(acquire_waiter& waiter) noexcept { insert(waiter, nullptr); }
  /// Requires: `waiter` is in this list.
  void remove(acquire_waiter& waiter) noexcept {
    queue_links& links = waiter.links;
    LIDO_ASSERT(links.is_linked && size_ != 0, "a waiter leaves a queue that it is not in");
    (links.previous != nullptr ? links.previous->links.next : first_) = links.next;
    (links.next != nullptr ? links.next->links.previous : last_) = links.previous;
    links.is_linked = false;
    --size_;
  }
  void append(acquire_queue& other) noexcept {
    while (acquire_waiter* const waiter = other.pop_front()) {
      push_back(*waiter);
    }
  }
  /// Removes the first waiter and returns it, or returns null if the list is empty.
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

/// The waiters of all groups, ordered by deadline, the earliest first.
using waiter_deadlines = deadline_heap<acquire_waiter>;

}  // namespace lido::inline v0::detail
