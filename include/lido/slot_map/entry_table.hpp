/// @file
/// Internal. Where a `secondary_map` has the entry of each slot.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lido/base/slot_index.hpp"

namespace lido::inline v0::detail {

/// Maps slots to the positions of their entries. For each slot it also stores the generation of the
/// latest handle that had an entry, even after that entry is erased. The slots are in pages, and a
/// page is allocated when one of its slots first gets an entry. So the memory depends on how many
/// slots have entries, and hardly on how many slots there are.
class entry_table {
 public:
  entry_table() noexcept = default;
  entry_table(entry_table&&) noexcept = default;
  entry_table& operator=(entry_table&&) noexcept = default;
  entry_table(const entry_table& other) : pages_(other.pages_.size()) {
    for (std::size_t n = 0; n != pages_.size(); ++n) {
      pages_[n] = other.pages_[n] ? std::make_unique<page>(*other.pages_[n]) : nullptr;
    }
  }
  entry_table& operator=(const entry_table&) = delete;
  ~entry_table() = default;

  /// Returns the position of the entry of a handle, or null_slot if there is none.
  [[nodiscard]] slot_index find(slot_index slot, std::uint32_t generation) const noexcept {
    const page* const found = page_of(slot);
    if (found == nullptr) {
      return null_slot;
    }
    const record& at = found->records[slot % slots_per_page];
    return at.generation == generation ? at.position : null_slot;
  }

  /// Returns true if the slot has had an entry of a handle with a generation above `generation`.
  [[nodiscard]] bool has_had_later(slot_index slot, std::uint32_t generation) const noexcept {
    const page* const found = page_of(slot);
    return found != nullptr && generation < found->records[slot % slots_per_page].generation;
  }

  /// Returns the position of the slot's entry, whatever its generation, or null_slot if there is
  /// none. Allocates the page of the slot, so that `set` can be called. Throws std::bad_alloc.
  [[nodiscard]] slot_index prepare(slot_index slot) {
    const std::size_t number = slot / slots_per_page;
    if (number >= pages_.size()) {
      pages_.resize(number + 1);
    }
    if (!pages_[number]) {
      pages_[number] = std::make_unique<page>();
    }
    return record_of(slot).position;
  }

  /// Records the entry of a handle. Requires: `prepare(slot)` has been called.
  void set(slot_index slot, std::uint32_t generation, slot_index position) noexcept {
    record& at = record_of(slot);
    if (at.position == null_slot && at.generation != 0) {
      --pages_[slot / slots_per_page]->erased;
    }
    at = {generation, position};
  }

  /// Records that the entry of the slot has moved to `position`. Requires: there is an entry.
  void move(slot_index slot, slot_index position) noexcept { record_of(slot).position = position; }

  /// Records that the slot has no entry any more. Requires: there is an entry.
  void erase(slot_index slot) noexcept {
    record_of(slot).position = null_slot;
    ++pages_[slot / slots_per_page]->erased;
  }

  /// Forgets the generation of each slot without an entry for which `is_stale(slot, generation)`
  /// returns true.
  template <class IsStale>
  void forget_erased(IsStale is_stale) noexcept {
    for (std::size_t number = 0; number != pages_.size(); ++number) {
      if (pages_[number] && pages_[number]->erased != 0) {
        forget_erased_in(*pages_[number], number * slots_per_page, is_stale);
      }
    }
  }

  /// Forgets all entries and generations. Keeps the pages.
  void clear() noexcept {
    for (const std::unique_ptr<page>& each : pages_) {
      if (each) {
        *each = page();
      }
    }
  }

 private:
  static constexpr std::size_t slots_per_page = 512;  ///< so that a page takes 4 KiB

  struct record {
    std::uint32_t generation = 0;  ///< 0 if no handle of the slot has had an entry
    slot_index position = null_slot;
  };
  struct page {
    std::array<record, slots_per_page> records;
    std::uint32_t erased = 0;  ///< number of slots that have a generation, but no entry
  };

  [[nodiscard]] const page* page_of(slot_index slot) const noexcept {
    const std::size_t number = slot / slots_per_page;
    return number < pages_.size() ? pages_[number].get() : nullptr;
  }
  [[nodiscard]] record& record_of(slot_index slot) const noexcept {
    return pages_[slot / slots_per_page]->records[slot % slots_per_page];
  }

  template <class IsStale>
  static void forget_erased_in(page& in, std::size_t first_slot, IsStale& is_stale) noexcept {
    for (std::size_t n = 0; n != slots_per_page; ++n) {
      record& at = in.records[n];
      if (at.position == null_slot && at.generation != 0 &&
          is_stale(static_cast<slot_index>(first_slot + n), at.generation)) {
        at.generation = 0;
        --in.erased;
      }
    }
  }

  std::vector<std::unique_ptr<page>> pages_;  ///< null for a page that no slot has needed yet
};

}  // namespace lido::inline v0::detail
