/// @file
/// Internal. Slots in the order of a time, the oldest first.
#pragma once

#include <cstdint>

#include "lido/resource/slot.hpp"

namespace lido::detail {

/// A list linked by `record.older` and `record.newer`; a slot is in one at most. Removing one is as
/// cheap as adding one.
class slot_chain {
 public:
  [[nodiscard]] bool empty() const noexcept { return oldest_ == nullptr; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] pool_slot* oldest() const noexcept { return oldest_; }
  [[nodiscard]] pool_slot* newest() const noexcept { return newest_; }

  /// Requires: it is in no chain.
  void push_newest(pool_slot& slot) noexcept {
    slot.record.older = newest_;
    slot.record.newer = nullptr;
    (newest_ != nullptr ? newest_->record.newer : oldest_) = &slot;
    newest_ = &slot;
    slot.record.is_listed = true;
    ++size_;
  }
  /// Nothing if it is in no chain.
  void remove(pool_slot& slot) noexcept {
    if (!slot.record.is_listed) {
      return;
    }
    (slot.record.older != nullptr ? slot.record.older->record.newer : oldest_) = slot.record.newer;
    (slot.record.newer != nullptr ? slot.record.newer->record.older : newest_) = slot.record.older;
    slot.record.is_listed = false;
    --size_;
  }

 private:
  pool_slot* oldest_ = nullptr;
  pool_slot* newest_ = nullptr;
  std::uint32_t size_ = 0;
};

}  // namespace lido::detail
