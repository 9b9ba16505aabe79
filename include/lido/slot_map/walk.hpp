/// @file
/// Internal. A walk over the values of a store whose callback may erase and insert.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "lido/base/assert.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/slot_map/callbacks.hpp"

namespace lido::inline v0::detail {

/// Calls `f` for the values at the indices from `first` to `last`; see `visit_with`.
///
/// While a walk runs, the map moves no value to another index, so each index below `last` is
/// visited at most once. Without holes the walk runs over an array. With holes it runs over
/// windows, the bits of 64 indices each. Each erase and each move by the callback changes the
/// version, and the walk then reads the store anew.
template <class Value, class Map, class F>
class walk {
 public:
  /// Requires: last <= the end of the store.
  [[LIDO_ASSERTS]] walk(Map& map, F& f, std::uint32_t first, std::uint32_t last) noexcept
      : map_(map), f_(f), index_(first), stop_(last), turns_(turns_for(map.store_)) {
    LIDO_ASSERT(last <= store().end(), "a walk beyond the end of its store");
  }

  /// Runs the walk. Returns true if it came to its end.
  [[nodiscard]] bool run() {
    bool on = true;
    while (on && index_ < stop_) {
      if (store().holes() == 0) {
        on = over_array(stop_);
      } else if (const std::uint64_t left = window(); ~left == 0) {
        on = over_array(index_ + (std::min)(word, stop_ - index_));
      } else {
        on = over_window(left);
      }
      stop_ = (std::min)(stop_, store().end());
    }
    return on;
  }

 private:
  static constexpr bool may_erase =
      !std::is_const_v<Map> && std::is_same_v<visitor_result<Map, F, Value>, step>;
  static constexpr std::uint32_t word = 64;
  static constexpr std::uint32_t at_once = 2;

  // Returns how many values to visit in a window. Holes lie elsewhere in each walk, so a processor
  // mispredicts the end of a loop over all bits of a window; it predicts a fixed number of turns.
  // If a quarter of the indices, at random, are holes, 64 indices have 48 values on average. They
  // nearly always have 38 or more: ten fewer are three standard deviations, of four at most. If few
  // indices have values, all values of a window are worth the misprediction.
  template <class Store>
  static std::uint32_t turns_for(const Store& store) noexcept {
    constexpr std::uint32_t fewer = 10;
    const std::uint64_t indices = (std::max)(store.end(), 1U);
    const auto mean = static_cast<std::uint32_t>(std::uint64_t{word} * store.size() / indices);
    return mean > word / 2 ? (mean - fewer) / at_once * at_once : word;
  }

  [[nodiscard]] const auto& store() const noexcept { return map_.store_; }

  // Visits a value. `seen` is the version of the store that the caller has a view of. Returns false
  // if the view is outdated, or if the walk ends, which clears `on`.
  template <class Version>
  [[LIDO_ALWAYS_INLINE]] bool meet(Value& value, std::uint32_t index, Version& seen, bool& on) {
    // Before the callback, which may erase the value and insert another there.
    [[maybe_unused]] const auto own =
        may_erase ? map_.handle_at(index) : typename Map::handle_type();
    const step verdict =
        visit_with(map_, f_, value, [this, index] { return map_.handle_at(index); });
    bool changed = store().version() != seen;
    if constexpr (may_erase) {
      if (erases(verdict)) {
        (void)map_.erase(own);
        // Its destructor may have erased others.
        changed |= !std::is_trivially_destructible_v<Value> && store().version() != seen + 1;
        seen = store().version();
      }
    }
    on = !stops(verdict);
    return on && !changed;
  }

  // Walks until the store changes. Returns false if the callback stops the walk.
  bool over_array(std::uint32_t end) {
    auto seen = store().version();
    bool on = true;
    std::uint32_t index = index_;
    // By pointer: computing each address from its index makes the loop take half as long again at
    // some code addresses.
    for (Value* value = store().values() + index; index != end; ++value, ++index) {
      if (!meet(*value, index, seen, on)) {
        index_ = index + 1;
        return on;
      }
    }
    index_ = end;
    return true;
  }

  // Walks likewise, or to the end of the window, or until it has visited `turns_` values. The next
  // window begins with the first value that is left.
  bool over_window(std::uint64_t left) {
    auto seen = store().version();
    bool on = true;
    const std::uint32_t first = index_;
    // Repeats the known alignment: GCC then keeps the sum and does not add `first` to each index.
    auto* const values = detail::assume_aligned<alignof(Value)>(store().values() + first);
    index_ = first + (std::min)(word, stop_ - first);
    for (std::uint32_t turn = 0; turn < turns_; turn += at_once) {
      if (!meet_next(values, first, left, seen, on)) {
        return on;
      }
    }
    if (left != 0) {
      index_ = first + lowest(left);
    }
    return true;
  }

  // Takes one turn. Returns false if this window is done.
  template <class Version>
  [[LIDO_ALWAYS_INLINE]] bool meet_next(Value* values, std::uint32_t first, std::uint64_t& left,
                                        Version& seen, bool& on) {
    LIDO_UNROLL(2)  // or it takes half as long again at some addresses
    for (std::uint32_t i = 0; i < at_once; ++i) {
      if (left == 0) [[unlikely]] {
        return false;
      }
      const std::uint32_t next = lowest(left);
      if (!meet(values[next], first + next, seen, on)) [[unlikely]] {
        index_ = first + next + 1;
        return false;
      }
      left &= left - 1;
    }
    return true;
  }

  // Requires: `bits` is not zero. The mask keeps GCC from extending the sign of the index.
  [[LIDO_ASSERTS]] static std::uint32_t lowest(std::uint64_t bits) noexcept {
    LIDO_ASSERT(bits != 0, "the lowest of no bits");
    return static_cast<std::uint32_t>(std::countr_zero(bits)) % word;
  }

  // Returns one bit for each value among the 64 indices from `index_` on. Requires: index_ < stop_
  // <= the end.
  [[nodiscard, LIDO_ASSERTS]] std::uint64_t window() const noexcept {
    LIDO_ASSERT(index_ < stop_ && stop_ <= store().end(), "a window beyond the end of a walk");
    const std::uint32_t shift = index_ % word;
    const std::uint32_t next_word = index_ - shift + word;
    std::uint64_t bits = ~store().holes_around(index_) >> shift;
    if (shift != 0 && next_word < stop_) {
      bits |= ~store().holes_around(next_word) << (word - shift);
    }
    if (stop_ - index_ < word) {
      bits &= ~(~std::uint64_t{0} << (stop_ - index_));
    }
    return bits;
  }

  Map& map_;
  F& f_;
  std::uint32_t index_;
  std::uint32_t stop_;
  std::uint32_t turns_;
};

}  // namespace lido::inline v0::detail
