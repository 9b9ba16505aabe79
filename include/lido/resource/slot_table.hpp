/// @file
/// Internal. All slots of a pool, which stay where they are until the pool ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "lido/concurrency/atomic.hpp"
#include "lido/resource/slot.hpp"

namespace lido::detail {

/// Slots that were made together. They lie as far apart as those of their R, which this class does
/// not know.
class pool_slot_block {
 public:
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast)
  pool_slot_block(pool_slot* first, std::size_t stride, std::uint32_t size) noexcept
      : first_(reinterpret_cast<std::byte*>(first)), stride_(stride), size_(size) {}
  pool_slot_block(const pool_slot_block&) = delete;
  pool_slot_block& operator=(const pool_slot_block&) = delete;
  virtual ~pool_slot_block() = default;

  [[nodiscard]] pool_slot& operator[](std::uint32_t index) const noexcept {
    return *reinterpret_cast<pool_slot*>(first_ + stride_ * index);
  }
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  /// The first slot for which `f(slot)` is true, or null.
  template <class F>
  [[nodiscard]] pool_slot* find(const F& f) const {
    for (std::uint32_t i = 0; i < size_; ++i) {
      if (f((*this)[i])) {
        return &(*this)[i];
      }
    }
    return nullptr;
  }

 private:
  friend class pool_slot_table;
  [[nodiscard]] pool_slot_block* next() const noexcept {
    // (1) - this acquire-load synchronizes-with the release-store (2), so the slots are visible
    return next_.load(std::memory_order_acquire);
  }

  std::byte* first_;
  std::size_t stride_;
  std::uint32_t size_;
  atomic<pool_slot_block*> next_{nullptr};
  std::unique_ptr<pool_slot_block> owned_;
};

/// Makes a block of so many slots of one R. Throws std::bad_alloc.
using slot_maker = std::unique_ptr<pool_slot_block> (*)(std::uint32_t size);

/// Slots by number, and a stack of the empty ones.
///
/// `find` may be called by any thread at any time; everything else needs the pool's mutex.
class pool_slot_table {
 public:
  /// Throws std::bad_alloc.
  pool_slot_table(slot_maker make, std::uint32_t size);

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  /// A block that `append` can take; made without the mutex. Null if there are `size` slots.
  [[nodiscard]] std::unique_ptr<pool_slot_block> make_more(std::uint32_t size) const;
  /// Null: nothing.
  void append(std::unique_ptr<pool_slot_block> block) noexcept;

  /// The empty slot that was in use last, or null.
  [[nodiscard]] pool_slot* take_empty() noexcept;
  void put_empty(pool_slot& slot) noexcept;

  /// The first slot for which `f(slot)` is true, or null.
  template <class F>
  [[nodiscard]] pool_slot* find(const F& f) const {
    pool_slot* found = nullptr;
    for (pool_slot_block* block = first_.get(); block != nullptr && found == nullptr;
         block = block->next()) {
      found = block->find(f);
    }
    return found;
  }
  template <class F>
  void for_each(const F& f) const {
    (void)find([&](pool_slot& slot) { return f(slot), false; });
  }
  /// Null: there is no such slot.
  [[nodiscard]] pool_slot* at(std::uint32_t number) const noexcept;

 private:
  void number(pool_slot_block& block) noexcept;

  slot_maker make_;
  std::uint32_t size_ = 0;
  std::unique_ptr<pool_slot_block> first_;
  pool_slot_block* last_;
  pool_slot* empty_ = nullptr;  // linked by record.next_task
};

}  // namespace lido::detail
