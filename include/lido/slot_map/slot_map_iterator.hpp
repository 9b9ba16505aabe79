/// @file
/// Public. The iterator of slot maps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <type_traits>

#include "lido/base/assert.hpp"
#include "lido/base/slot_index.hpp"

namespace lido::inline v0 {

/// Visits the values of a `slot_map` in memory order. Skips holes, and closes none. Every call that
/// changes the map invalidates its iterators, with one exception. If `compaction_mode` is not
/// immediate, an erase leaves iterators to other values, and `end()`, valid. An iterator of a
/// `concurrent_slot_map` comes from its snapshot.
template <class Map>
class slot_map_iterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = typename std::remove_const_t<Map>::value_type;
  using difference_type = std::ptrdiff_t;
  using reference = std::conditional_t<std::is_const_v<Map>, const value_type&, value_type&>;
  using pointer = std::remove_reference_t<reference>*;

  slot_map_iterator() noexcept = default;
  /// Internal: makes an iterator to the value at `index`.
  slot_map_iterator(Map* map, std::uint32_t index) noexcept : map_(map), index_(known(index)) {}

  /// Converts to an iterator that does not change values.
  // NOLINTNEXTLINE(google-explicit-constructor): that is what it is for
  explicit(false) operator slot_map_iterator<const Map>() const noexcept
      requires(!std::is_const_v<Map>) {
    slot_map_iterator<const Map> same;
    same.map_ = map_;
    same.index_ = index_;
    return same;
  }

  /// Returns the value. Requires: the iterator is at a value.
  [[nodiscard, LIDO_ASSERTS]] reference operator*() const noexcept {
    LIDO_ASSERT(is_at_value(), "an iterator that is at no value of its map");
    return map_->value_at(index_);
  }
  /// Accesses a member of the value. Requires: the iterator is at a value.
  [[nodiscard, LIDO_ASSERTS]] pointer operator->() const noexcept { return std::addressof(**this); }

  /// Returns the handle of the value. Requires: the iterator is at a value.
  [[nodiscard, LIDO_ASSERTS]] typename std::remove_const_t<Map>::handle_type handle()
      const noexcept {
    LIDO_ASSERT(is_at_value(), "an iterator that is at no value of its map");
    return map_->handle_at(index_);
  }

  /// Moves to the next value. Requires: the iterator is not at the end.
  [[LIDO_ASSERTS]] slot_map_iterator& operator++() noexcept {
    LIDO_ASSERT(map_ != nullptr && index_ < map_->end_index(),
                "an increment of an iterator at the end");
    index_ = known(map_->next_value(index_ + 1));
    return *this;
  }
  /// Moves to the next value, and returns the previous position.
  [[LIDO_ASSERTS]] slot_map_iterator operator++(int) noexcept {
    const slot_map_iterator before = *this;
    ++*this;
    return before;
  }

  friend bool operator==(const slot_map_iterator&, const slot_map_iterator&) noexcept = default;

 private:
  template <class>
  friend class slot_map_iterator;

  [[nodiscard]] bool is_at_value() const noexcept {
    return map_ != nullptr && map_->is_value(index_);
  }

  /// Returns `index` if it is below the end of the map, and null_slot otherwise. So all end
  /// iterators are equal, whatever is erased later.
  [[nodiscard]] std::uint32_t known(std::uint32_t index) const noexcept {
    return index < map_->end_index() ? index : detail::null_slot;
  }

  Map* map_ = nullptr;
  std::uint32_t index_ = 0;
};

}  // namespace lido::inline v0
