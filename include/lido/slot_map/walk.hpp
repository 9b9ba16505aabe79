/// @file
/// Internal. A walk over the values of a store whose callback may erase and insert.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lido/base/mutation.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/slot_map/step.hpp"

namespace lido::detail {

/// For walks that do not erase.
inline constexpr auto erase_nothing = [](std::uint32_t /*place*/,
                                         std::uint64_t /*handle*/) noexcept {};

/// Calls `visit(value, place)` for each value; it returns a `step`. `erase(place, handle)` erases.
/// Unless MayErase is std::true_type, no verdict says so.
///
/// While a walk runs the owner of the store moves no value to another place, so each place below
/// the end at the start is visited at most once. Places are looked at in two ways: where there is
/// no hole as an array, where there are holes by the bits of 64 places. What the callback changes
/// shows in the version, and then both look at the store anew.
template <class Store, class Visit, class Erase, class MayErase>
class walk {
 public:
  walk(Store& store, Visit& visit, Erase& erase, MayErase /*unnamed*/) noexcept
      : store_(store), visit_(visit), erase_(erase), stop_(store.end()) {}

  /// Whether the walk came to its end.
  [[nodiscard]] bool run() {
    bool on = true;
    while (on && place_ < stop_) {
      if (store_.holes() == 0) {
        on = over_array(stop_);
      } else if (place_ % word == 0 && store_.holes_around(place_) == 0) {
        on = over_array(std::min(place_ + word, stop_));
      } else {
        on = over_word();
      }
      stop_ = std::min(stop_, store_.end());
    }
    return on;
  }

 private:
  static constexpr std::uint32_t word = 64;

  // Until the store changes under the walk.
  bool over_array(std::uint32_t end) {
    auto* const values = store_.values();
    auto seen = store_.version();
    std::uint32_t place = place_;
    bool on = true;
    while (place != end && on) {
      const std::uint64_t own = identity_at(place);
      const step verdict = visit_(values[place], place);
      on = !stops(verdict);
      const bool changed = store_.version() != seen;
      if (erases(verdict)) {
        erase_visited(own);
        seen = store_.version();
      }
      ++place;
      if (changed) [[unlikely]] {
        break;
      }
    }
    place_ = place;
    return on;
  }

  bool over_word() {
    auto* values = store_.values();
    auto seen = store_.version();
    const std::uint32_t first = place_ - place_ % word;
    std::uint64_t left = values_from(place_, first);
    std::uint64_t soon = is_large() ? values_from(first + word, first + word) : 0;
    while (left != 0) {
      if (soon != 0) {
        // Not into the second cache: a walk of so many values would only push others out there.
        __builtin_prefetch(values + first + word + std::countr_zero(soon), 0, 0);
        soon &= soon - 1;
      }
      const std::uint32_t place = first + static_cast<std::uint32_t>(std::countr_zero(left));
      const std::uint64_t own = identity_at(place);
      const step verdict = visit_(values[place], place);
      if (erases(verdict)) {
        erase_visited(own);
      }
      if (stops(verdict)) {
        return false;
      }
      left &= left - 1;
      if (store_.version() != seen) [[unlikely]] {
        seen = store_.version();
        values = store_.values();
        left &= values_from(first, first);
      }
    }
    place_ = first + word;
    return true;
  }

  /// Whether the values are in no near cache. Processors expect a walk to take each line or each
  /// n-th; with holes it does not, so what it takes soon has to be asked for.
  [[nodiscard]] bool is_large() const noexcept {
    constexpr std::size_t near_cache = std::size_t{4} << 20U;
    constexpr std::size_t size = sizeof(*store_.values());
    return size >= cache_line / 2 && stop_ * size > near_cache;
  }

  /// Which value is at a place before the callback, which may erase it and insert another there.
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

  // One bit for each value from `from` on, among the 64 places from `first` on.
  [[nodiscard]] std::uint64_t values_from(std::uint32_t from, std::uint32_t first) const noexcept {
    const std::uint32_t end = std::min(stop_, store_.end());
    if (end <= first) {
      return 0;
    }
    std::uint64_t bits = ~store_.holes_around(first) >> (from - first) << (from - first);
    if (end - first < word) {
      bits &= ~(~std::uint64_t{0} << (end - first));
    }
    if (broken(mutation::skip_last_place)) {
      bits &= ~std::uint64_t{0} >> 1U;
    }
    return bits;
  }

  Store& store_;
  Visit& visit_;
  Erase& erase_;
  std::uint32_t stop_;  ///< values behind it were inserted during the walk
  std::uint32_t place_ = 0;
};

}  // namespace lido::detail
