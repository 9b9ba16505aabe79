/// @file
/// Internal. A walk over the values of a store whose callback may erase and insert.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

#include "lido/base/slot_index.hpp"
#include "lido/slot_map/step.hpp"

namespace lido::detail {

/// For walks that do not erase.
inline constexpr auto erase_nothing = [](std::uint32_t /*place*/,
                                         std::uint64_t /*handle*/) noexcept {};

/// Calls `visit(value, place)` for each value; it returns a `step`. `erase(place, handle)` erases.
/// Unless MayErase is std::true_type, no `step` asks for that.
///
/// While a walk runs, the owner of the store moves no value to another place, so each place below
/// the end at the start is visited at most once. Without holes the walk goes over an array. With
/// holes it goes over windows, the bits of 64 places each. Each erase and each move by the callback
/// shows in the version, and the walk then looks at the store anew.
template <class Store, class Visit, class Erase, class MayErase>
class walk {
 public:
  walk(Store& store, Visit& visit, Erase& erase, MayErase /*unnamed*/) noexcept
      : store_(store), visit_(visit), erase_(erase), stop_(store.end()), turns_(turns_for(store)) {}

  /// Whether the walk came to its end.
  [[nodiscard]] bool run() {
    bool on = true;
    while (on && place_ < stop_) {
      if (store_.holes() == 0) {
        on = over_array(stop_);
      } else if (const std::uint64_t left = window(); ~left == 0) {
        on = over_array(place_ + std::min(word, stop_ - place_));
      } else {
        on = over_window(left);
      }
      stop_ = std::min(stop_, store_.end());
    }
    return on;
  }

 private:
  static constexpr std::uint32_t word = 64;
  static constexpr std::uint32_t at_once = 2;

  // How many values to meet in a window. Holes lie elsewhere in each walk, so a processor
  // mispredicts the end of a loop over all bits of a window; it predicts a fixed number of turns.
  // If a quarter of the places, at random, are holes, 64 places have 48 values on average. They
  // nearly always have 38 or more: ten fewer are three standard deviations, of four at most. Where
  // few places have values, all values of a window are worth the misprediction.
  static std::uint32_t turns_for(const Store& store) noexcept {
    constexpr std::uint32_t fewer = 10;
    const std::uint64_t places = std::max(store.end(), 1U);
    const auto mean = static_cast<std::uint32_t>(std::uint64_t{word} * store.size() / places);
    return mean > word / 2 ? (mean - fewer) / at_once * at_once : word;
  }

  // `seen`: the version of the store that the caller has a view of. False: the view is outdated, or
  // the walk ends, which `on` tells.
  template <class Value, class Version>
  [[gnu::always_inline]] bool meet(Value& value, std::uint32_t place, Version& seen, bool& on) {
    const std::uint64_t own = identity_at(place);
    const step verdict = visit_(value, place);
    const bool changed = store_.version() != seen;
    if (erases(verdict)) {
      erase_visited(own);
      seen = store_.version();
    }
    on = !stops(verdict);
    return on && !changed;
  }

  // Walks until the store changes under it. False: the callback wants it to stop.
  bool over_array(std::uint32_t end) {
    auto seen = store_.version();
    bool on = true;
    std::uint32_t place = place_;
    // By pointer: computing each address from its place makes a loop half as slow again at some
    // addresses of its own.
    for (auto* value = store_.values() + place; place != end; ++value, ++place) {
      if (!meet(*value, place, seen, on)) {
        place_ = place + 1;
        return on;
      }
    }
    place_ = end;
    return true;
  }

  // As above, or to the end of the window, or until it has met `turns_` values. The next window
  // begins with the first value that is left.
  bool over_window(std::uint64_t left) {
    auto seen = store_.version();
    bool on = true;
    const std::uint32_t first = place_;
    // Repeats the known alignment: GCC then keeps the sum and does not add `first` to each place.
    auto* const values =
        std::assume_aligned<alignof(decltype(*store_.values()))>(store_.values() + first);
    place_ = first + std::min(word, stop_ - first);
    for (std::uint32_t turn = 0; turn < turns_; turn += at_once) {
      if (!meet_next(values, first, left, seen, on)) {
        return on;
      }
    }
    if (left != 0) {
      place_ = first + lowest(left);
    }
    return true;
  }

  // One turn. False: this window is done.
  template <class Values, class Version>
  [[gnu::always_inline]] bool meet_next(Values values, std::uint32_t first, std::uint64_t& left,
                                        Version& seen, bool& on) {
#pragma GCC unroll 2  // or it takes half as long again at some addresses
    for (std::uint32_t i = 0; i < at_once; ++i) {
      if (left == 0) [[unlikely]] {
        return false;
      }
      const std::uint32_t next = lowest(left);
      if (!meet(values[next], first + next, seen, on)) [[unlikely]] {
        place_ = first + next + 1;
        return false;
      }
      left &= left - 1;
    }
    return true;
  }

  // Requires: `bits` is not zero. The mask keeps GCC from extending the sign of the place.
  static std::uint32_t lowest(std::uint64_t bits) noexcept {
    return static_cast<std::uint32_t>(std::countr_zero(bits)) % word;
  }

  /// Names the value at a place before the callback, which may erase it and insert another there.
  [[nodiscard]] std::uint64_t identity_at(std::uint32_t place) const noexcept {
    if constexpr (MayErase::value) {
      return store_.handle_at(place);
    } else {
      return 0;
    }
  }

  void erase_visited(std::uint64_t handle) {
    // The callback may have erased the value itself, and another one may be in its place.
    if (const std::uint32_t place = store_.find(handle); place != null_slot) {
      erase_(place, handle);
    }
  }

  // One bit for each value among the 64 places from `place_` on. Requires: place_ < stop_ <= the
  // end.
  [[nodiscard]] std::uint64_t window() const noexcept {
    const std::uint32_t shift = place_ % word;
    const std::uint32_t next_word = place_ - shift + word;
    std::uint64_t bits = ~store_.holes_around(place_) >> shift;
    if (shift != 0 && next_word < stop_) {
      bits |= ~store_.holes_around(next_word) << (word - shift);
    }
    if (stop_ - place_ < word) {
      bits &= ~(~std::uint64_t{0} << (stop_ - place_));
    }
    return bits;
  }

  Store& store_;
  Visit& visit_;
  Erase& erase_;
  std::uint32_t stop_;  ///< values behind it were inserted during the walk
  std::uint32_t turns_;
  std::uint32_t place_ = 0;
};

}  // namespace lido::detail
