/// @file
/// Internal. Restores a concurrent slot map from a snapshot.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lido/base/assert.hpp"
#include "lido/base/option_problem.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/debug/slot_shadow.hpp"
#include "lido/object/construction.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/slot_map/slot_state.hpp"
#include "lido/slot_map/snapshot.hpp"

namespace lido::inline v0::detail {

/// Restores a concurrent slot map. First takes every slot that is not free in the snapshot, next
/// constructs the values, and changes the words of the slots only when nothing can fail any more.
template <class Map>
class restoration {
 public:
  explicit restoration(Map& map) noexcept : map_(map) {}

  /// See concurrent_slot_map::problem_with.
  template <class Snapshot>
  [[nodiscard]] static option_problem find_problem(const Map& map, const Snapshot& from) noexcept {
    constexpr auto wrong = option_problem::kind::option;
    if (option_problem found = problem_with_format(from.format, concurrent_slot_map_format)) {
      return found;
    }
    if (from.max_size != map.max_size_) {
      return {wrong, {"the snapshot to restore is of a map with another max_size"}};
    }
    if (!is_consistent(map, from.table, from.values.size())) {
      return {wrong, {"the snapshot to restore is not consistent"}};
    }
    if (map.size() != reserved_slots(map)) {
      return {wrong, {"restore into a map that is not empty"}};
    }
    return {};
  }

  /// See concurrent_slot_map::restore.
  template <class Snapshot>
  [[LIDO_ASSERTS]] void run(const Snapshot& from) {
    LIDO_ASSERT(!map_.walks_.any(), "restore of a concurrent slot map during a walk of it");
    table_ = from.table;
    throw_if(find_problem(map_, from), map_.name_);
    const scope_exit free_rest([this]() noexcept { free_slots_without_content(); });
    take_slots();
    construct(from.values);
    adopt_table();
  }

 private:
  using value = typename Map::value_type;
  using content = slot_state::content;

  static content content_of(std::uint64_t word) noexcept { return static_cast<content>(word & 3U); }
  [[nodiscard]] bool is_used_up(std::uint32_t slot) const noexcept {
    return map_.states_[slot].generation() == 0;
  }
  [[nodiscard]] void* address_of(std::uint32_t slot) const noexcept {
    return map_.geometry_.address_of(slot);
  }

  /// Returns true if `table` can be that of a map with `count` values.
  [[nodiscard]] static bool is_consistent(const Map& map, std::span<const std::uint64_t> table,
                                          std::size_t count) noexcept {
    std::size_t values = 0;
    for (const std::uint64_t word : table) {
      const std::uint64_t generation = word >> 2U;
      if (word != 0 && ((word & 3U) == 3 || generation < 1 || generation > map.last_generation_)) {
        return false;
      }
      values += content_of(word) == content::value ? 1U : 0U;
    }
    return table.size() <= map.max_size_ && values == count;
  }

  [[nodiscard]] static bool is_reserved(const Map& map, std::uint32_t slot) noexcept {
    return map.states_[slot].contents() == content::reserved;
  }
  /// Returns the number of reserved handles of `map`.
  [[nodiscard]] static std::size_t reserved_slots(const Map& map) noexcept {
    std::size_t count = 0;
    for (std::uint32_t slot = 0; slot < map.end_.get(); ++slot) {
      count += is_reserved(map, slot) ? 1U : 0U;
    }
    return count;
  }

  /// Takes slots until it has all those that the snapshot uses or that are used up there. Also
  /// notes the slots that are used up or reserved in the map, which may be free in the snapshot.
  /// Throws std::bad_alloc.
  [[LIDO_ASSERTS]] void take_slots() {
    std::size_t missing = 0;
    const auto end = (std::max)(map_.end_.get(), static_cast<std::uint32_t>(table_.size()));
    for (std::uint32_t slot = 0; slot < end; ++slot) {
      if (is_reserved(map_, slot) || (is_used_up(slot) && slot < table_.size())) {
        taken_.push_back(address_of(slot));
      } else if (is_wanted(slot)) {
        ++missing;
      }
    }
    while (missing != 0) {
      taken_.push_back(nullptr);
      taken_.back() = map_.slots_.allocator.acquire();
      LIDO_ASSERT(taken_.back() != nullptr, "a map is restored while other threads use it");
      missing -= is_wanted(map_.geometry_.index_of(taken_.back())) ? 1U : 0U;
    }
  }
  [[nodiscard]] bool is_wanted(std::uint32_t slot) const noexcept {
    return slot < table_.size() &&
           (table_[slot] == 0 || content_of(table_[slot]) != content::nothing);
  }

  /// Destroys the values that have been constructed in slots below `end`.
  void destroy_below(std::uint32_t end) noexcept {
    while (end-- != 0) {
      if (content_of(table_[end]) == content::value) {
        map_.value_at(end).~value();
        slot_shadow<sizeof(value)>::close(address_of(end));
      }
    }
  }

  template <class Values>
  void construct(const Values& values) {
    std::uint32_t slot = 0;
    scope_exit undo([&]() noexcept {
      slot_shadow<sizeof(value)>::close(address_of(slot));
      destroy_below(slot);
    });
    auto each = values.begin();
    for (; slot < table_.size(); ++slot) {
      if (content_of(table_[slot]) == content::value) {
        slot_shadow<sizeof(value)>::open(address_of(slot));
        (void)make<value>(address_of(slot), value_to_restore<value>(*each));
        ++each;
      }
    }
    undo.dismiss();
  }

  [[LIDO_ASSERTS]] void adopt_table() noexcept {
    std::size_t used_up = map_.used_up_slots();
    for (auto slot = static_cast<std::uint32_t>(table_.size()); slot < map_.end_.get(); ++slot) {
      // A reserved handle that the snapshot does not know becomes stale.
      if (is_reserved(map_, slot) && !map_.states_[slot].retire_value(map_.last_generation_)) {
        ++used_up;
      }
    }
    for (std::uint32_t slot = 0; slot < table_.size(); ++slot) {
      used_up -= is_used_up(slot) ? 1U : 0U;
      used_up += table_[slot] == 0 ? 1U : 0U;
      map_.states_[slot].restore(table_[slot] >> 2U, content_of(table_[slot]));
    }
    if (!table_.empty()) {
      // Free slots count, too: the next snapshot must know which handles they have given.
      map_.end_.raise_above(static_cast<std::uint32_t>(table_.size() - 1));
    }
    // relaxed: used only for statistics
    map_.used_up_.store(used_up, std::memory_order_relaxed);
  }

  /// Frees those of the taken slots that are neither in use nor used up, highest first, so that low
  /// slots are used first. If the restore has failed, those are all slots that were taken.
  [[LIDO_ASSERTS]] void free_slots_without_content() noexcept {
    for (; !taken_.empty(); taken_.pop_back()) {
      void* const address = taken_.back();
      const std::uint32_t slot = address == nullptr ? 0 : map_.geometry_.index_of(address);
      if (address != nullptr && !is_used_up(slot) &&
          map_.states_[slot].contents() == content::nothing) {
        map_.slots_.allocator.release(address);
      }
    }
  }

  Map& map_;
  std::span<const std::uint64_t> table_;
  std::vector<void*> taken_;
};

}  // namespace lido::inline v0::detail
