/// @file
/// Internal. The table behind handles: the generation of each slot and the index of its value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "lido/base/assert.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/huge_pages.hpp"
#include "lido/base/memory_cursor.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/slot_map/table_image.hpp"

namespace lido::inline v0::detail {

/// The last generation of a handle. The next number, with the mark of slot_table's invariant I3,
/// means that a slot is used up.
inline constexpr std::uint32_t last_table_generation = 0x7FFF'FFFE;

/// Maps handles to indices, with generations from 1 to `Last`. Not thread-safe. A slot without a
/// value is free, vacant or reserved. Free slots form a list, which is stored in the table itself.
/// A vacant slot still has an index, and the next value at that index uses the slot.
///
/// The table stores one word per slot: the valid handle xor the index of its value. So a look-up is
/// one xor of that word with the handle. If the generations are equal, the result is the index.
/// Otherwise, it is greater than any index.
///
/// Invariants
///  I1 The generation of a slot only grows, and so does the first generation of new slots. Hence no
///     pair of slot and generation is given out twice, except by `load` or for a handle that the
///     user passes.
///  I2 A slot whose generations are used up is in no list. It may be vacant, and never has a value.
///  I3 The generation of a free or vacant slot carries a mark that no handle has. So looking up
///     a handle of another map fails, even if its generation is the one that the slot will give
///     next. A slot whose handle is reserved has no mark. Its word encodes the index null_slot, so
///     looking up the handle fails.
template <std::uint32_t Last>
class slot_table {
  static_assert(Last >= 1 && Last <= last_table_generation, "lido: generations are 1 to 2^31 - 2");

 public:
  explicit slot_table(const array_source& from = {}) noexcept : words_(from) {}

  /// Returns the index of the value whose handle has the bits `handle`, or null_slot if the handle
  /// is stale.
  [[nodiscard]] std::uint32_t find(std::uint64_t handle) const noexcept {
    const auto slot = static_cast<slot_index>(handle);
    if (slot < words_.size()) [[likely]] {
      const std::uint64_t index = words_[slot] ^ handle;
      if (index < null_slot) [[likely]] {
        return static_cast<std::uint32_t>(index);
      }
    }
    return null_slot;
  }

  /// Returns the bits of the handle of the value in `slot`.
  [[nodiscard]] std::uint64_t handle(slot_index slot) const noexcept {
    return (words_[slot] & generation_bits) | slot;
  }

  /// Returns the index of `slot` if it has a value or is vacant. For other slots, returns an
  /// arbitrary number.
  [[nodiscard]] std::uint32_t index_or_any(slot_index slot) const noexcept {
    return static_cast<std::uint32_t>(words_[slot]) ^ slot;
  }

  /// Ensures that `claim` finds a free slot. Throws std::bad_alloc or std::length_error.
  void prepare() {
    if (first_free_ == null_slot) [[unlikely]] {
      add_slot();
    }
  }

  /// Ensures that `claim` finds a free slot once the slot of `handle` is freed. Throws the same as
  /// `prepare`.
  void prepare_for(std::uint64_t handle) {
    if (handle >> 32U == Last) [[unlikely]] {
      prepare();
    }
  }

  /// Takes a free slot for `index` and makes it vacant. Requires: `prepare` was called.
  [[nodiscard, LIDO_ASSERTS]] slot_index claim(std::uint32_t index) noexcept {
    LIDO_ASSERT(first_free_ < words_.size(), "a slot is claimed without one that is free");
    const slot_index slot = first_free_;
    const std::uint64_t free = words_[slot];
    words_[slot] = (free & generation_bits) | (slot ^ index);
    first_free_ = static_cast<slot_index>(free);
    return slot;
  }

  /// Records that the value of `slot` has moved to `index`.
  void move(slot_index slot, std::uint32_t index) noexcept { words_[slot] = handle(slot) ^ index; }
  /// Records the same in a copy.
  void move_in(table_copy& copy, slot_index slot, std::uint32_t index) const noexcept {
    copy.table[slot] = handle(slot) ^ index;
  }

  /// Makes the slot of `handle` vacant, so that the handle becomes stale. Requires: the value of
  /// `handle` is at `index`.
  [[LIDO_ASSERTS]] void vacate(std::uint64_t handle, std::uint32_t index) noexcept {
    LIDO_ASSERT(find(handle) == index, "a slot is vacated under a stale handle");
    const auto slot = static_cast<slot_index>(handle);
    words_[slot] = word_without_value(generation_after(handle), slot ^ index);
  }

  /// Returns the address of the word that `index_or_any` reads, for a prefetch.
  [[nodiscard]] const void* word_of(slot_index slot) const noexcept { return &words_[slot]; }

  /// Returns the slot for the next value at the index of the vacant slot `slot`. That is `slot`
  /// itself, or a free slot if `slot` is used up. Throws the same as `prepare`.
  [[nodiscard, LIDO_ASSERTS]] slot_index prepare_to_fill(slot_index slot) {
    if (is_used_up(slot)) [[unlikely]] {
      const std::uint32_t index = index_or_any(slot);
      prepare();
      return claim(index);
    }
    return slot;
  }

  /// Returns the bits of the handle that the next value in `slot` will get. Requires: `slot` is
  /// vacant.
  [[nodiscard]] std::uint64_t next_handle(slot_index slot) const noexcept {
    return handle(slot) & ~unused;
  }

  /// Assigns the vacant slot of `handle` to the value at `index`, so that the value gets `handle`.
  [[LIDO_ASSERTS]] void fill(std::uint64_t handle, std::uint32_t index) noexcept {
    LIDO_ASSERT((words_[static_cast<slot_index>(handle)] & unused) != 0, "a slot is filled twice");
    words_[static_cast<slot_index>(handle)] = handle ^ index;
  }

  /// Returns true if the slot of `handle` may get a value under `handle`. That is so if the handle
  /// is reserved. Otherwise, the slot must be neither in use nor used up, must have given no later
  /// handle, and must be one that a map of `most` values may have.
  [[nodiscard]] bool can_fill_as(std::uint64_t handle, std::size_t most) const noexcept {
    const auto slot = static_cast<slot_index>(handle);
    const auto wanted = static_cast<std::uint32_t>(handle >> 32U);
    if (wanted < 1 || wanted > Last) {
      return false;
    }
    if (slot >= words_.size()) {
      return slot < most + used_up_ && wanted + 1 >= first_generation_;
    }
    return is_reserved(handle) ||
           ((words_[slot] & unused) != 0 && !is_used_up(slot) && wanted + 1 >= generation(slot));
  }

  /// Makes `slot` the one that `claim` returns next. Adds all slots up to `slot` if the table has
  /// fewer. Throws the same as `prepare`. Requires: no slot is vacant, and can_fill_as is true for
  /// a handle of `slot`.
  ///
  /// Takes constant time on average, because `befores_` usually knows the slot before `slot` in the
  /// list of free slots. That array is only a hint, which is validated before it is used. So only
  /// this function maintains it.
  [[LIDO_ASSERTS]] void bring_forward(slot_index slot) {
    LIDO_ASSERT(slot >= words_.size() || (words_[slot] & unused) != 0,
                "a slot with a value is brought forward");
    while (words_.size() <= slot) {
      add_slot();
    }
    if (slot != first_free_) {
      befores_.resize(words_.size(), null_slot);
      const slot_index before = find_before(slot);
      const slot_index next = next_free(slot);
      link(before, next);
      note_before(next, before);
      link(slot, first_free_);
      note_before(first_free_, slot);
      first_free_ = slot;
    }
  }

  /// Takes a free slot for a value that will be made later. Returns the bits of the value's handle,
  /// which `find` refuses until then. Throws the same as `prepare`.
  [[nodiscard, LIDO_ASSERTS]] std::uint64_t reserve_handle() {
    prepare();
    return reserve_first();
  }
  /// Does the same with the slot that `claim` would return. Requires: there is one.
  [[LIDO_ASSERTS]] std::uint64_t reserve_first() noexcept {
    const slot_index slot = claim(null_slot);
    const std::uint64_t handle = next_handle(slot);
    words_[slot] = handle ^ null_slot;
    ++reserved_;
    return handle;
  }
  [[nodiscard]] bool is_reserved(std::uint64_t handle) const noexcept {
    const auto slot = static_cast<slot_index>(handle);
    return slot < words_.size() && (handle & unused) == 0 && words_[slot] == (handle ^ null_slot);
  }
  /// Makes the slot of a reserved handle the one that `claim` returns next. Its next generation is
  /// that of `handle`.
  void use_reserved(std::uint64_t handle) noexcept {
    const auto slot = static_cast<slot_index>(handle);
    words_[slot] = word_without_value(static_cast<std::uint32_t>(handle >> 32U), first_free_);
    first_free_ = slot;
    --reserved_;
  }
  /// Frees the slot of a reserved handle, so that the handle becomes stale. Skips a generation,
  /// because `can_fill_as` accepts the last handle that a slot has given.
  void give_up_reserved(std::uint64_t handle) noexcept {
    const auto slot = static_cast<slot_index>(handle);
    const auto given = static_cast<std::uint32_t>(handle >> 32U);
    const std::uint64_t skipped = std::uint64_t{(std::min)(given + 1, Last)} << 32U;
    words_[slot] = word_without_value(generation_after(skipped), null_slot);
    give_up_index(slot);
    --reserved_;
  }
  [[nodiscard]] std::size_t reserved() const noexcept { return reserved_; }

  /// Returns the next generation of `slot`, or the present one if it has a value or is reserved.
  [[nodiscard]] std::uint32_t generation(slot_index slot) const noexcept {
    return static_cast<std::uint32_t>((words_[slot] & ~unused) >> 32U);
  }

  /// Frees a vacant slot, so that it no longer has an index.
  void give_up_index(slot_index slot) noexcept {
    words_[slot] = (words_[slot] & generation_bits) | first_free_;
    if (!is_used_up(slot)) [[likely]] {
      first_free_ = slot;
    }
  }

  /// Frees a vacant slot in a copy.
  void give_up_index_in(table_copy& copy, slot_index slot) const noexcept {
    copy.table[slot] = (words_[slot] & generation_bits) | copy.first_free;
    if (!is_used_up(slot)) {
      copy.first_free = slot;
    }
  }

  /// Frees all slots that have a value or are vacant, so that their handles become stale. Then the
  /// list of free slots is in the order of memory.
  void free_all() noexcept {
    first_free_ = null_slot;
    for (std::size_t i = words_.size(); i > 0; --i) {
      const auto slot = static_cast<slot_index>(i - 1);
      if (has_reserved(slot) || is_used_up(slot)) [[unlikely]] {
        continue;
      }
      const bool given = (words_[slot] & unused) == 0;
      words_[slot] =
          word_without_value(given ? generation_after(handle(slot)) : generation(slot), null_slot);
      give_up_index(slot);
    }
  }

  /// Puts the list of free slots in the order of memory. Inserts then read the table from front to
  /// back, instead of one distant word after another. Requires: no slot is vacant.
  void sort_free() noexcept {
    slot_index first = null_slot;
    for (std::size_t i = words_.size(); i > 0; --i) {
      const auto slot = static_cast<slot_index>(i - 1);
      const std::uint64_t word = words_[slot];
      const bool free = (word & unused) != 0 && !is_used_up(slot);
      // Written without a branch, because free slots are at random places.
      words_[slot] = free ? (word & generation_bits) | first : word;
      first = free ? slot : first;
    }
    first_free_ = first;
  }

  [[nodiscard]] std::size_t size() const noexcept { return words_.size(); }
  void reserve(std::size_t count) { words_.reserve(count + used_up_); }
  /// Takes from `memory` what a new table takes for `reserve(count)`.
  static void take_memory(memory_cursor& memory, std::size_t count) noexcept {
    (void)memory.take(count * sizeof(std::uint64_t), alignof(std::uint64_t));
  }

  /// Drops the free slots behind the last slot that is taken, used up or old. Frees their memory,
  /// except for what `reserve(count)` needs. New slots begin with the highest generation of the
  /// dropped slots. A slot that has given half of its generations is old; if it were dropped, each
  /// new slot would soon be used up. Throws std::bad_alloc without effect.
  /// `has_value(slot)` returns true if `slot` has a value. Requires: no slot is vacant.
  template <class Taken>
  void shrink(std::size_t count, Taken has_value) {
    const auto taken = [&](slot_index slot) { return has_value(slot) || has_reserved(slot); };
    std::size_t keep = words_.size();
    std::uint32_t least = first_generation_;
    while (keep > 0 && !taken(static_cast<slot_index>(keep - 1)) &&
           generation(static_cast<slot_index>(keep - 1)) <= Last / 2 + 1) {
      least = (std::max)(least, generation(static_cast<slot_index>(--keep)));
    }
    const auto middle = words_.begin() + static_cast<std::ptrdiff_t>(keep);
    words fewer(source());
    fewer.reserve((std::max)(keep, count + used_up_));
    fewer.assign(words_.begin(), middle);
    words_.swap(fewer);
    befores_ = {};
    first_generation_ = least;
    first_free_ = null_slot;
    for (std::size_t i = keep; i > 0; --i) {
      const auto slot = static_cast<slot_index>(i - 1);
      if (!taken(slot)) {
        give_up_index(slot);
      }
    }
  }

  /// Moves the content to a new table. This one is then empty. Its new slots begin with a later
  /// generation than any that it has given, so that it gives no handle twice. If there is none,
  /// `prepare` throws std::length_error.
  [[nodiscard]] slot_table take_content() noexcept {
    std::uint32_t next = first_generation_;
    for (slot_index slot = 0; slot < words_.size(); ++slot) {
      const bool given = (words_[slot] & unused) == 0;
      next = (std::max)(next, (std::min)(generation(slot) + (given ? 1 : 0), Last + 1));
    }
    slot_table taken(source());
    std::swap(*this, taken);
    first_generation_ = next;
    return taken;
  }

  /// Returns the words of all slots, and whatever else `load` needs.
  [[nodiscard]] table_image image() const noexcept {
    return {words_, first_free_, first_generation_};
  }

  /// Returns a copy of the image. Throws std::bad_alloc.
  [[nodiscard]] table_copy copy() const {
    return {{words_.begin(), words_.end()}, first_free_, first_generation_};
  }

  /// Copies the words of the image `from`. Writes the slot of the value at each index to `owners`.
  /// If it throws std::bad_alloc, the table may only be destroyed. Requires: image_check passes for
  /// `owners.size()` values.
  void load(const table_image& from, std::span<slot_index> owners) {
    words_.assign(from.table.begin(), from.table.end());
    first_free_ = from.first_free;
    first_generation_ = from.first_generation;
    for (slot_index slot = 0; slot < words_.size(); ++slot) {
      if ((words_[slot] & unused) != 0) {
        used_up_ += is_used_up(slot) ? 1U : 0U;
      } else if (has_reserved(slot)) {
        ++reserved_;
      } else {
        owners[index_or_any(slot)] = slot;
      }
    }
  }

  [[nodiscard]] array_source source() const noexcept { return words_.get_allocator().source(); }

  /// Returns the number of slots that will not be used again.
  [[nodiscard]] std::size_t used_up() const noexcept { return used_up_; }

  [[nodiscard]] std::size_t memory() const noexcept {
    return words_.capacity() * sizeof(std::uint64_t) + befores_.capacity() * sizeof(slot_index);
  }

 private:
  using words = std::vector<std::uint64_t, array_allocator<std::uint64_t>>;

  static constexpr std::uint64_t generation_bits = 0xFFFF'FFFF'0000'0000;
  static constexpr std::uint64_t unused = slot_without_value;
  static constexpr std::uint32_t no_generation = 0xFFFF'FFFF;  ///< generation of a used-up slot

  /// Makes a word with the slot's next generation and the mark of I3. For a free slot, `low` is the
  /// next slot in the list. For a vacant slot, `low` encodes the index, as in the word of a slot
  /// with a value.
  static constexpr std::uint64_t word_without_value(std::uint32_t generation,
                                                    std::uint32_t low) noexcept {
    return unused | std::uint64_t{generation} << 32U | low;
  }

  /// Returns the generation after that of a valid handle. If none is left, counts the slot as used
  /// up and returns no_generation.
  [[nodiscard]] std::uint32_t generation_after(std::uint64_t handle) noexcept {
    const auto generation = static_cast<std::uint32_t>(handle >> 32U);
    if (generation == Last) [[unlikely]] {
      ++used_up_;
      return no_generation;
    }
    return generation + 1;
  }

  [[nodiscard]] bool is_used_up(slot_index slot) const noexcept {
    return words_[slot] >> 32U == no_generation;
  }

  /// Returns true if the handle of `slot` is reserved. Such a word encodes an index that no value
  /// has.
  [[nodiscard]] bool has_reserved(slot_index slot) const noexcept {
    return (words_[slot] & unused) == 0 && index_or_any(slot) == null_slot;
  }

  /// Returns the slot after the free slot `slot` in the list.
  [[nodiscard]] slot_index next_free(slot_index slot) const noexcept {
    return static_cast<slot_index>(words_[slot]);
  }
  void link(slot_index slot, slot_index next) noexcept {
    words_[slot] = (words_[slot] & generation_bits) | next;
  }
  void note_before(slot_index slot, slot_index before) noexcept {
    if (slot != null_slot) {
      befores_[slot] = before;
    }
  }
  /// Returns the slot before `slot` in the list of free slots. If the hint is wrong, searches the
  /// list. Corrects the hints on the way, and as many hints beyond `slot`, so that searches become
  /// rare. Requires: `slot` is in the list, but not first.
  [[nodiscard]] slot_index find_before(slot_index slot) noexcept {
    const slot_index hint = befores_[slot];
    if (hint < words_.size() && (words_[hint] & unused) != 0 && !is_used_up(hint) &&
        next_free(hint) == slot) {
      return hint;
    }
    std::size_t steps = 0;
    for (slot_index at = first_free_; at != slot; at = next_free(at)) {
      note_before(next_free(at), at);
      ++steps;
    }
    for (slot_index at = slot; steps != 0 && at != null_slot; at = next_free(at)) {
      note_before(next_free(at), at);
      --steps;
    }
    return befores_[slot];
  }

  [[LIDO_SLOW_PATH]] void add_slot() {
    if (words_.size() >= max_capacity || first_generation_ > Last) {
      throw_length_error("lido: the indices of a slot map are used up");
    }
    words_.push_back(word_without_value(first_generation_, first_free_));
    first_free_ = static_cast<slot_index>(words_.size() - 1);
  }

  words words_;
  std::vector<slot_index> befores_;  ///< hints for `bring_forward`
  std::size_t used_up_ = 0;
  std::size_t reserved_ = 0;  ///< number of reserved handles
  std::uint32_t first_generation_ = 1;
  slot_index first_free_ = null_slot;
};

}  // namespace lido::inline v0::detail
