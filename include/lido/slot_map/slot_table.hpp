/// @file
/// Internal. What handles lead to: for each slot its generation and where its value is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "lido/base/mutation.hpp"
#include "lido/base/slot_index.hpp"

namespace lido::detail {

/// Generations of a slot: 1 to `last`. After the last one the slot is used up.
template <std::uint32_t Last>
struct generations {
  static_assert(Last >= 1 && Last < 0x8000'0000, "lido: generations are 1 to 2^31 - 1");
  static constexpr std::uint32_t first = 1;
  static constexpr std::uint32_t last = Last;
  static constexpr std::uint32_t used_up = 0xFFFF'FFFF;  ///< of a slot; no handle has it
};

using all_generations = generations<0x7FFF'FFFF>;

/// Slots for one thread. A slot that is free is in a list through the table itself.
///
/// Invariants
///  I1 The generation of a slot only grows, and so does the least one that a new slot may begin
///     with: no pair of slot and generation is given out twice.
///  I2 A slot whose generation is used up is in no list.
///  I3 The generation of a free slot carries a mark that no handle has. So a handle of another map,
///     which may name a generation that this slot has yet to give, leads nowhere.
template <class Generations>
class slot_table {
 public:
  /// Where the value of a handle is; null_slot when the handle is stale.
  [[nodiscard]] std::uint32_t find(slot_index slot, std::uint32_t generation) const noexcept {
    if (slot < entries_.size() && entries_[slot].generation == generation) [[likely]] {
      return entries_[slot].place;
    }
    return null_slot;
  }

  /// Of a slot with a value.
  [[nodiscard]] std::uint32_t generation(slot_index slot) const noexcept {
    return entries_[slot].generation;
  }

  /// Of a slot with a value: where that is. Of another: anything.
  [[nodiscard]] std::uint32_t place_or_next(slot_index slot) const noexcept {
    return entries_[slot].place;
  }

  /// Makes sure that `take` finds a slot. Throws std::bad_alloc, std::length_error.
  void prepare() {
    if (first_free_ == null_slot) {
      if (entries_.size() >= max_capacity) {
        throw std::length_error("lido: the indices of a slot map are used up");
      }
      entries_.push_back({first_generation_ | unused, null_slot});
      first_free_ = static_cast<slot_index>(entries_.size() - 1);
    }
  }

  /// A free slot, now of the value at `place`. Requires: prepare().
  [[nodiscard]] slot_index take(std::uint32_t place) noexcept {
    const slot_index slot = first_free_;
    first_free_ = entries_[slot].place;
    entries_[slot].generation &= ~unused;
    entries_[slot].place = place;
    return slot;
  }

  /// The value of `slot` has moved.
  void move(slot_index slot, std::uint32_t place) noexcept { entries_[slot].place = place; }

  /// Frees a slot: its handle is stale from now on.
  void give_back(slot_index slot) noexcept {
    entry& freed = entries_[slot];
    if (freed.generation == Generations::last && !broken(mutation::reuse_used_up)) {
      freed.generation = Generations::used_up;
      ++used_up_;
      return;
    }
    if (!broken(mutation::same_slot_generation)) {
      freed.generation = freed.generation == Generations::last ? 1 : freed.generation + 1;
    }
    freed.generation |= unused;
    freed.place = first_free_;
    first_free_ = slot;
  }

  void reserve(std::size_t slots) { entries_.reserve(slots + used_up_); }

  /// Drops the free slots behind the last one that is taken or used up, and the memory of them all
  /// but what `reserve(slots)` asks for. What they have counted is kept as the generation that new
  /// slots begin with. Throws std::bad_alloc, and has changed nothing then. `taken(slot)` says
  /// whether a slot has a value.
  template <class Taken>
  void shrink(std::size_t slots, Taken taken) {
    std::size_t keep = entries_.size();
    std::uint32_t least = first_generation_;
    while (keep > 0 && !taken(static_cast<slot_index>(keep - 1)) &&
           entries_[keep - 1].generation != Generations::used_up) {
      least = std::max(least, entries_[--keep].generation & ~unused);
    }
    const auto middle = entries_.begin() + static_cast<std::ptrdiff_t>(keep);
    std::vector<entry> kept;
    kept.reserve(std::max(keep, slots + used_up_));
    kept.assign(entries_.begin(), middle);
    entries_.swap(kept);
    first_generation_ = least;
    first_free_ = null_slot;
    for (std::size_t i = keep; i > 0; --i) {
      const auto slot = static_cast<slot_index>(i - 1);
      if (!taken(slot) && entries_[slot].generation != Generations::used_up) {
        entries_[slot].place = first_free_;
        first_free_ = slot;
      }
    }
  }

  /// Slots that will not be used again.
  [[nodiscard]] std::size_t used_up() const noexcept { return used_up_; }

  [[nodiscard]] std::size_t memory() const noexcept { return entries_.capacity() * sizeof(entry); }

 private:
  static constexpr std::uint32_t unused = 0x8000'0000;

  struct entry {
    std::uint32_t generation;  ///< of a free slot the next one, marked `unused`
    std::uint32_t place;       ///< of the value; of a free slot: the next free one
  };

  std::vector<entry> entries_;
  std::size_t used_up_ = 0;
  std::uint32_t first_generation_ = Generations::first;
  slot_index first_free_ = null_slot;
};

}  // namespace lido::detail
