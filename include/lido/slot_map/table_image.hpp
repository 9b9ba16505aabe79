/// @file
/// Internal. The data from which the table of a slot map is loaded, and its validation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "lido/base/slot_index.hpp"

namespace lido::inline v0::detail {

/// The mark in the word of a free, vacant or used-up slot; see slot_table's invariant I3.
inline constexpr std::uint64_t slot_without_value = std::uint64_t{1} << 63U;

/// The data from which a table is loaded: one 64-bit word per slot; see slot_map_snapshot.
struct table_image {
  std::span<const std::uint64_t> table;
  slot_index first_free = null_slot;
  std::uint32_t first_generation = 1;

  [[nodiscard]] bool is_marked(std::size_t slot) const noexcept {
    return (table[slot] & slot_without_value) != 0;
  }
  [[nodiscard]] bool is_used_up(std::size_t slot) const noexcept {
    return table[slot] >> 32U == 0xFFFF'FFFF;
  }
  /// Returns the generation of a slot without its mark.
  [[nodiscard]] std::uint32_t generation(std::size_t slot) const noexcept {
    return static_cast<std::uint32_t>((table[slot] & ~slot_without_value) >> 32U);
  }
  /// Returns the index of the value of a slot without a mark, or null_slot if it is reserved.
  [[nodiscard]] std::uint32_t index(std::size_t slot) const noexcept {
    return static_cast<std::uint32_t>(table[slot] ^ slot);
  }
  /// Returns the number of reserved handles.
  [[nodiscard]] std::size_t reserved() const noexcept {
    std::size_t count = 0;
    for (std::size_t slot = 0; slot < table.size(); ++slot) {
      count += !is_marked(slot) && index(slot) == null_slot ? 1U : 0U;
    }
    return count;
  }
};

/// The words of a table in a vector of their own, from which a snapshot is made.
struct table_copy {
  std::vector<std::uint64_t> table;
  slot_index first_free = null_slot;
  std::uint32_t first_generation = 1;
};

/// Checks whether an image is that of a table with generations up to `last`, a given number of
/// values, and no vacant slot.
class image_check {
 public:
  image_check(const table_image& image, std::size_t values, std::uint32_t last) noexcept
      : image_(image), values_(values), last_(last) {}

  /// Returns true if the image is consistent. Never throws. If `may_allocate` is false or there is
  /// no memory, reads the table once for each 32,768 values instead of once.
  [[nodiscard]] bool passes(bool may_allocate) const noexcept {
    return has_sound_words() && has_every_value(may_allocate);
  }

 private:
  static constexpr std::size_t bits = 64;

  [[nodiscard]] bool has_generation(std::size_t slot) const noexcept {
    return image_.generation(slot) >= 1 && image_.generation(slot) <= last_;
  }

  /// Checks all but whether two slots have the same value.
  [[nodiscard]] bool has_sound_words() const noexcept {
    // The first generation of a moved-from table may be the one after the last.
    if (image_.table.size() > max_capacity || image_.first_generation < 1 ||
        image_.first_generation > last_ + 1) {
      return false;
    }
    std::size_t free = 0;
    std::size_t values = 0;
    for (std::size_t slot = 0; slot < image_.table.size(); ++slot) {
      if (image_.is_marked(slot)) {
        free += image_.is_used_up(slot) ? 0U : 1U;
      } else if (!has_generation(slot)) {
        return false;
      } else if (image_.index(slot) != null_slot) {
        ++values;
      }
    }
    return values == values_ && has_all_free(free);
  }

  /// Returns true if the list of free slots has exactly `count` elements. Each slot has one
  /// successor, so no slot occurs twice in a list that ends.
  [[nodiscard]] bool has_all_free(std::size_t count) const noexcept {
    slot_index slot = image_.first_free;
    for (; count != 0 && slot < image_.table.size(); --count) {
      if (!image_.is_marked(slot) || !has_generation(slot)) {
        return false;
      }
      slot = static_cast<slot_index>(image_.table[slot]);
    }
    return count == 0 && slot == null_slot;
  }

  /// Returns true if every value has a slot. Requires: there are as many values as slots with one.
  [[nodiscard]] bool has_every_value(bool may_allocate) const noexcept {
    std::array<std::uint64_t, 512> few{};
    const std::size_t words = (values_ + bits - 1) / bits;
    if (words > few.size() && may_allocate) {
      const std::unique_ptr<std::uint64_t[]> all(new (std::nothrow) std::uint64_t[words]());
      if (all != nullptr) {
        return has_values_from(0, {all.get(), words});
      }
    }
    for (std::size_t first = 0; first < values_; first += few.size() * bits) {
      few.fill(0);
      if (!has_values_from(first, few)) {
        return false;
      }
    }
    return true;
  }

  /// Returns true if each of the values from `first` on, of which `seen` has a bit, has a slot.
  /// Requires: all bits are 0.
  [[nodiscard]] bool has_values_from(std::size_t first,
                                     std::span<std::uint64_t> seen) const noexcept {
    const std::size_t wanted = (std::min)(values_ - first, seen.size() * bits);
    std::size_t found = 0;
    for (std::size_t slot = 0; slot < image_.table.size(); ++slot) {
      const std::size_t at = image_.index(slot) - first;  // wraps around below `first`
      if (!image_.is_marked(slot) && at < wanted) {
        const std::uint64_t bit = std::uint64_t{1} << at % bits;
        found += (seen[at / bits] & bit) == 0 ? 1U : 0U;
        seen[at / bits] |= bit;
      }
    }
    return found == wanted;
  }

  const table_image& image_;
  std::size_t values_;
  std::uint32_t last_;
};

}  // namespace lido::inline v0::detail
