/// @file
/// Internal. All slots of a pool. Their addresses stay valid until the pool is destroyed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "lido/concurrency/atomic.hpp"
#include "lido/resource/slot.hpp"

namespace lido::inline v0::detail {

/// Slots that were allocated together, as a part of a table.
struct pool_slot_block : made_slots {
  pool_slot_block(made_slots made, std::uint32_t many) : made_slots(std::move(made)), size(many) {}

  [[nodiscard]] pool_slot& operator[](std::uint32_t index) const noexcept {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
    return *reinterpret_cast<pool_slot*>(static_cast<std::byte*>(first) + stride * index);
  }

  std::uint32_t size;
  atomic<pool_slot_block*> next{nullptr};
  std::unique_ptr<pool_slot_block> owned;
};

/// Finds slots by number, and keeps a stack of the empty slots.
///
/// Any thread may call `find` at any time. Everything else requires the pool's mutex.
class pool_slot_table {
 public:
  /// The births of the table's resources are counted from `before_first`, so that handles of
  /// different tables are seldom equal. Throws std::bad_alloc.
  pool_slot_table(slot_maker make, std::uint32_t size, std::uint32_t before_first = 0)
      : make_(make), before_first_(before_first) {
    append(block_of((std::max)(1U, size)));
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  /// Allocates a block for `append`, so that the table will have `size` slots. Called with the
  /// mutex unlocked. Returns null if the table already has `size` slots or more.
  [[nodiscard]] std::unique_ptr<pool_slot_block> make_more(std::uint32_t size) const {
    return size > size_ ? block_of(size - size_) : nullptr;
  }
  /// Appends a block; does nothing if it is null.
  void append(std::unique_ptr<pool_slot_block> block) noexcept {
    if (block == nullptr) {
      return;
    }
    // The lowest slot ends up on top of the stack, so that a pool with little load uses only the
    // lowest slots.
    for (std::uint32_t i = block->size; i-- > 0;) {
      (*block)[i].number = size_ + i;
      (*block)[i].count_births_from(before_first_);
      put_empty((*block)[i]);
    }
    size_ += block->size;
    std::unique_ptr<pool_slot_block>& end = last_ != nullptr ? last_->owned : first_;
    end = std::move(block);
    if (last_ != nullptr) {
      // (1) - this release-store synchronizes-with the acquire-load (2)
      last_->next.store(end.get(), std::memory_order_release);
    }
    last_ = end.get();
  }

  /// Takes the slot that was used last off the stack of empty slots. Returns null if the stack is
  /// empty.
  [[nodiscard]] pool_slot* take_empty() noexcept {
    pool_slot* const slot = empty_;
    if (slot != nullptr) {
      empty_ = std::exchange(slot->record.next_task, nullptr);
    }
    return slot;
  }
  void put_empty(pool_slot& slot) noexcept { slot.record.next_task = std::exchange(empty_, &slot); }

  /// Returns the first slot numbered `from` or higher for which `f(slot)` is true, or null.
  template <class F>
  [[nodiscard]] pool_slot* find(const F& f, std::uint32_t from = 0) const {
    std::uint32_t at = from;
    for (pool_slot_block* block = first_.get(); block != nullptr;) {
      if (at >= block->size) {
        at -= block->size;
        // (2) - this acquire-load synchronizes-with the release-store (1), so the slots are visible
        block = block->next.load(std::memory_order_acquire);
      } else if (pool_slot& slot = (*block)[at++]; f(slot)) {
        return &slot;
      }
    }
    return nullptr;
  }
  template <class F>
  void for_each(const F& f) const {
    (void)find([&](pool_slot& slot) { return f(slot), false; });
  }
  /// Returns the slot numbered `number`, or null if there is none.
  [[nodiscard]] pool_slot* at(std::uint32_t number) const noexcept {
    return find([number](const pool_slot& slot) { return slot.number == number; });
  }

 private:
  [[nodiscard]] std::unique_ptr<pool_slot_block> block_of(std::uint32_t size) const {
    return std::make_unique<pool_slot_block>(make_(size), size);
  }

  slot_maker make_;
  std::uint32_t before_first_;
  std::uint32_t size_ = 0;
  std::unique_ptr<pool_slot_block> first_;
  pool_slot_block* last_ = nullptr;
  pool_slot* empty_ = nullptr;  // linked by record.next_task
};

}  // namespace lido::inline v0::detail
