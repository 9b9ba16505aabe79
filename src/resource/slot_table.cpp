// All slots of a pool.
#include "lido/resource/slot_table.hpp"

#include <algorithm>

namespace lido::detail {

pool_slot_table::pool_slot_table(slot_maker make, std::uint32_t size)
    : make_(make), first_(make(std::max(1U, size))), last_(first_.get()) {
  number(*first_);
}

/// Lowest on top, so that a small load keeps to low slots.
void pool_slot_table::number(pool_slot_block& block) noexcept {
  for (std::uint32_t i = block.size(); i-- > 0;) {
    block[i].number = size_ + i;
    put_empty(block[i]);
  }
  size_ += block.size();
}

std::unique_ptr<pool_slot_block> pool_slot_table::make_more(std::uint32_t size) const {
  return size > size_ ? make_(size - size_) : nullptr;
}

void pool_slot_table::append(std::unique_ptr<pool_slot_block> block) noexcept {
  if (block == nullptr) {
    return;
  }
  number(*block);
  // (2) - this release-store synchronizes-with the acquire-load (1)
  last_->next_.store(block.get(), std::memory_order_release);
  pool_slot_block* const added = block.get();
  last_->owned_ = std::move(block);
  last_ = added;
}

pool_slot* pool_slot_table::take_empty() noexcept {
  pool_slot* const slot = empty_;
  if (slot != nullptr) {
    empty_ = std::exchange(slot->record.next_task, nullptr);
  }
  return slot;
}

void pool_slot_table::put_empty(pool_slot& slot) noexcept {
  slot.record.next_task = std::exchange(empty_, &slot);
}

pool_slot* pool_slot_table::at(std::uint32_t number) const noexcept {
  for (pool_slot_block* block = first_.get(); block != nullptr; block = block->next()) {
    if (number < block->size()) {
      return &(*block)[number];
    }
    number -= block->size();
  }
  return nullptr;
}

}  // namespace lido::detail
