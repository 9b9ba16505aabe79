/// @file
/// Internal. What handles lead to: for each slot its generation and the place of its value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lido/base/fail.hpp"
#include "lido/base/huge_pages.hpp"
#include "lido/base/slot_index.hpp"

namespace lido::detail {

/// The last generation that a handle can have: the next one, marked, says that a slot is used up.
inline constexpr std::uint32_t last_table_generation = 0x7FFF'FFFE;

/// Slots for one thread, with generations from 1 to `Last`. A slot without a value is free or
/// vacant. Free slots form a list through the table itself. A vacant slot still has a place, and
/// its next value is made there.
///
/// For each slot the table keeps one word: the handle that is valid now, exclusive or the place of
/// its value. So a look-up is one operation on the bits of a handle. Its result is the place if the
/// generations are equal, and more than any place if not.
///
/// Invariants
///  I1 The generation of a slot only grows, and so does the least one that a new slot may begin
///     with: no pair of slot and generation is given out twice.
///  I2 A slot whose generation is used up is in no list. It may be vacant, and never has a value.
///  I3 The generation of a free or vacant slot carries a mark that no handle has. So a handle of
///     another map, which may name a generation that this slot has yet to give, leads nowhere.
template <std::uint32_t Last>
class slot_table {
  static_assert(Last >= 1 && Last <= last_table_generation, "lido: generations are 1 to 2^31 - 2");

 public:
  /// The place of the value whose handle has these bits; null_slot when that is stale.
  [[nodiscard]] std::uint32_t find(std::uint64_t handle) const noexcept {
    const auto slot = static_cast<slot_index>(handle);
    if (slot < words_.size()) [[likely]] {
      const std::uint64_t place = words_[slot] ^ handle;
      if (place < null_slot) [[likely]] {
        return static_cast<std::uint32_t>(place);
      }
    }
    return null_slot;
  }

  /// The bits of the handle of a slot with a value.
  [[nodiscard]] std::uint64_t handle(slot_index slot) const noexcept {
    return (words_[slot] & generation_bits) | slot;
  }

  /// The place of a slot that has a value or is vacant. For other slots: any number.
  [[nodiscard]] std::uint32_t place_or_any(slot_index slot) const noexcept {
    return static_cast<std::uint32_t>(words_[slot]) ^ slot;
  }

  /// Makes sure that `take` finds a slot. Throws std::bad_alloc, std::length_error.
  void prepare() {
    if (first_free_ == null_slot) [[unlikely]] {
      add_slot();
    }
  }

  /// Makes sure that `take` finds a slot after `give_back(handle)`. Throws as above.
  void prepare_for(std::uint64_t handle) {
    if (handle >> 32U == Last) [[unlikely]] {
      prepare();
    }
  }

  /// Gives the value at `place` a free slot; returns the bits of its handle. Requires: prepare().
  [[nodiscard]] std::uint64_t take(std::uint32_t place) noexcept {
    const slot_index slot = first_free_;
    const std::uint64_t free = words_[slot];
    const std::uint64_t handle = (free & ~unused & generation_bits) | slot;
    words_[slot] = handle ^ place;
    first_free_ = static_cast<slot_index>(free);
    return handle;
  }

  /// The value of `slot` has moved to `place`.
  void move(slot_index slot, std::uint32_t place) noexcept { words_[slot] = handle(slot) ^ place; }

  /// Frees the slot of a handle, which is stale from now on. Requires: the handle is valid.
  void give_back(std::uint64_t handle) noexcept {
    vacate(handle, 0);
    give_up_place(static_cast<slot_index>(handle));
  }

  /// Makes a slot vacant; its handle is stale from now on. Requires: the handle leads to `place`.
  void vacate(std::uint64_t handle, std::uint32_t place) noexcept {
    const auto slot = static_cast<slot_index>(handle);
    words_[slot] = word_without_value(generation_after(handle), slot ^ place);
  }

  /// For a prefetch of what `place_or_any` reads.
  [[nodiscard]] const void* word_of(slot_index slot) const noexcept { return &words_[slot]; }

  /// Makes sure that `fill(slot)` finds a slot. Throws as `prepare`.
  void prepare_to_fill(slot_index slot) {
    if (is_used_up(slot)) [[unlikely]] {
      prepare();
    }
  }

  /// Gives the value at the place of a vacant slot that slot, or a free one if it is used up.
  /// Returns the bits of the value's handle. Requires: prepare_to_fill(slot).
  [[nodiscard]] std::uint64_t fill(slot_index slot) noexcept {
    if (is_used_up(slot)) [[unlikely]] {
      return take(place_or_any(slot));
    }
    words_[slot] &= ~unused;
    return handle(slot);
  }

  /// Frees a vacant slot.
  void give_up_place(slot_index slot) noexcept {
    words_[slot] = (words_[slot] & generation_bits) | first_free_;
    if (!is_used_up(slot)) [[likely]] {
      first_free_ = slot;
    }
  }

  void reserve(std::size_t count) { words_.reserve(count + used_up_); }

  /// Drops the free slots behind the last one that is taken, used up or old, and their memory
  /// except what `reserve(count)` asks for. New slots begin with the highest generation that was
  /// dropped. So a slot that has given half of its own stays, or each new slot would be used up at
  /// once. Throws std::bad_alloc without effect. `taken(slot)`: it has a value. Requires: none is
  /// vacant.
  template <class Taken>
  void shrink(std::size_t count, Taken taken) {
    std::size_t keep = words_.size();
    std::uint32_t least = first_generation_;
    while (keep > 0 && !taken(static_cast<slot_index>(keep - 1)) &&
           generation(static_cast<slot_index>(keep - 1)) <= Last / 2 + 1) {
      least = std::max(least, generation(static_cast<slot_index>(--keep)));
    }
    const auto middle = words_.begin() + static_cast<std::ptrdiff_t>(keep);
    words kept;
    kept.reserve(std::max(keep, count + used_up_));
    kept.assign(words_.begin(), middle);
    words_.swap(kept);
    first_generation_ = least;
    first_free_ = null_slot;
    for (std::size_t i = keep; i > 0; --i) {
      const auto slot = static_cast<slot_index>(i - 1);
      if (!taken(slot)) {
        give_up_place(slot);
      }
    }
  }

  /// Slots that will not be used again.
  [[nodiscard]] std::size_t used_up() const noexcept { return used_up_; }

  [[nodiscard]] std::size_t memory() const noexcept {
    return words_.capacity() * sizeof(std::uint64_t);
  }

 private:
  using words = std::vector<std::uint64_t, array_allocator<std::uint64_t>>;

  static constexpr std::uint64_t generation_bits = 0xFFFF'FFFF'0000'0000;
  static constexpr std::uint64_t unused = 0x8000'0000'0000'0000;
  static constexpr std::uint32_t no_generation = 0xFFFF'FFFF;  ///< of a slot that is used up

  /// The slot's next generation, marked. `low` of a free slot: the next one in the list. `low` of a
  /// vacant slot: its place, as in the word of a slot with a value.
  static constexpr std::uint64_t word_without_value(std::uint32_t generation,
                                                    std::uint32_t low) noexcept {
    return unused | std::uint64_t{generation} << 32U | low;
  }

  /// What follows the generation of a valid handle. Counts a slot that has none left.
  [[nodiscard]] std::uint32_t generation_after(std::uint64_t handle) noexcept {
    const auto generation = static_cast<std::uint32_t>(handle >> 32U);
    if (generation == Last) [[unlikely]] {
      ++used_up_;
      return no_generation;
    }
    return generation + 1;
  }

  /// The next generation that a slot without a value gives.
  [[nodiscard]] std::uint32_t generation(slot_index slot) const noexcept {
    return static_cast<std::uint32_t>((words_[slot] & ~unused) >> 32U);
  }

  [[nodiscard]] bool is_used_up(slot_index slot) const noexcept {
    return words_[slot] >> 32U == no_generation;
  }

  [[gnu::noinline]] void add_slot() {
    if (words_.size() >= max_capacity) {
      throw_length_error("lido: the indices of a slot map are used up");
    }
    words_.push_back(word_without_value(first_generation_, null_slot));
    first_free_ = static_cast<slot_index>(words_.size() - 1);
  }

  words words_;
  std::size_t used_up_ = 0;
  std::uint32_t first_generation_ = 1;
  slot_index first_free_ = null_slot;
};

}  // namespace lido::detail
