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
/// While a walk runs, no value moves to another index, so each index is visited at most once.
/// Without holes, the walk iterates over an array. With holes, it iterates over windows of 64
/// indices, each represented by 64 bits. Each erase and each move by the callback changes the
/// version of the store. The walk then reads the store again.
template <class Value, class Map, class F>
class walk {
 public:
  /// Requires: last <= the end of the store.
  [[LIDO_ASSERTS]] walk(Map& map, F& f, std::uint32_t first, std::uint32_t last) noexcept
      : map_(map), f_(f), index_(first), stop_(last), turns_(turns_for(map.store_)) {
    LIDO_ASSERT(last <= store().end(), "a walk beyond the end of its store");
  }

  /// Runs the walk. Returns true unless `f` stopped it.
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

  // Returns the number of values to visit per window. The holes differ from walk to walk, so a
  // processor mispredicts the end of a loop over all values of a window. It predicts the end of a
  // loop with a fixed number of turns.
  //
  // If a random quarter of the indices are holes, a window of 64 indices has 48 values on average.
  // Nearly always it has 38 or more: ten fewer than average is about three standard deviations,
  // each of four at most. If few indices have values, visiting all values of a window is worth the
  // misprediction.
  template <class Store>
  static std::uint32_t turns_for(const Store& store) noexcept {
    constexpr std::uint32_t fewer = 10;
    const std::uint64_t indices = (std::max)(store.end(), 1U);
    const auto mean = static_cast<std::uint32_t>(std::uint64_t{word} * store.size() / indices);
    return mean > word / 2 ? (mean - fewer) / at_once * at_once : word;
  }

  [[nodiscard]] const auto& store() const noexcept { return map_.store_; }

  // Visits a value. `seen` is the version of the store that the caller has read. Returns false if
  // the store has changed since then, or if the callback stops the walk. Sets `on` to false only if
  // the callback stops the walk.
  template <class Version>
  [[LIDO_ALWAYS_INLINE]] bool meet(Value& value, std::uint32_t index, Version& seen, bool& on) {
    // The handle is read before the callback runs, since the callback may erase the value and
    // insert another one at the same index.
    [[maybe_unused]] const auto own =
        may_erase ? map_.handle_at(index) : typename Map::handle_type();
    const step verdict =
        visit_with(map_, f_, value, [this, index] { return map_.handle_at(index); });
    bool changed = store().version() != seen;
    if constexpr (may_erase) {
      if (erases(verdict)) {
        (void)map_.erase(own);
        // The destructor of the value may have erased others.
        changed |= !std::is_trivially_destructible_v<Value> && store().version() != seen + 1;
        seen = store().version();
      }
    }
    on = !stops(verdict);
    return on && !changed;
  }

  // Visits the values up to index `end`, or until the store changes. Returns false if the callback
  // stops the walk.
  bool over_array(std::uint32_t end) {
    auto seen = store().version();
    bool on = true;
    std::uint32_t index = index_;
    // Iterates by pointer. If each address is computed from its index, the loop takes half as long
    // again at some code addresses.
    for (Value* value = store().values() + index; index != end; ++value, ++index) {
      if (!meet(*value, index, seen, on)) {
        index_ = index + 1;
        return on;
      }
    }
    index_ = end;
    return true;
  }

  // Visits the values of a window (each has a set bit in `left`) until the store changes or
  // `turns_` values have been visited. The next window begins with the first value that was not
  // visited. Returns false if the callback stops the walk.
  bool over_window(std::uint64_t left) {
    auto seen = store().version();
    bool on = true;
    const std::uint32_t first = index_;
    // Restating the alignment makes GCC compute this sum once instead of adding `first` to every
    // index.
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

  // Visits the next `at_once` values of the window. Returns false if the walk must leave the
  // window.
  template <class Version>
  [[LIDO_ALWAYS_INLINE]] bool meet_next(Value* values, std::uint32_t first, std::uint64_t& left,
                                        Version& seen, bool& on) {
    LIDO_UNROLL(2)  // otherwise the loop takes half as long again at some code addresses
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

  // Returns the index of the lowest set bit. Requires: `bits` is not zero. The modulo keeps GCC
  // from extending the sign of the index.
  [[LIDO_ASSERTS]] static std::uint32_t lowest(std::uint64_t bits) noexcept {
    LIDO_ASSERT(bits != 0, "the lowest of no bits");
    return static_cast<std::uint32_t>(std::countr_zero(bits)) % word;
  }

  // Returns one bit for each of the 64 indices from `index_` on, set if there is a value. Requires:
  // index_ < stop_ <= the end of the store.
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
