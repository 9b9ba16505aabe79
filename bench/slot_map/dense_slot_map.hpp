/// @file
/// A slot map as P0661 and SG14 describe it, as a contender of the benches: the result of a
/// textbook implementation by hand. The interface is that of containers.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "objects.hpp"

namespace lido_bench {

/// Values are contiguous in a vector. A second vector maps each value back to its slot, a third one
/// contains the slots: the index of the value, and its generation. An erase moves the last value
/// into the hole. Free slots form a list, last in, first out. A slot that has used up its
/// generations is retired, so that a stale handle is refused for ever, as in Lido.
class dense_slot_map {
 public:
  static constexpr bool keeps_handles = true;
  static constexpr std::string_view name = "dense_slot_map";
  struct handle {
    std::uint32_t slot;
    std::uint32_t generation;
  };

  handle add(std::int32_t points) {
    if (first_free_ == none) {
      slots_.push_back({none, 0});
      first_free_ = static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const auto place = static_cast<std::uint32_t>(values_.size());
    owners_.push_back(first_free_);
    values_.emplace_back(points);
    const std::uint32_t slot = first_free_;
    first_free_ = std::exchange(slots_[slot].place_or_next, place);
    return {slot, slots_[slot].generation};
  }
  void remove(handle where) {
    if (is_good(where)) {
      remove_at(slots_[where.slot].place_or_next);
    }
  }
  object* find(handle where) {
    return is_good(where) ? &values_[slots_[where.slot].place_or_next] : nullptr;
  }
  template <class F>
  void walk(F f) {
    for (object& value : values_) {
      f(value);
    }
  }
  template <class F>
  void prune(F f) {
    for (std::uint32_t place = 0; place != values_.size();) {
      if (f(values_[place])) {
        remove_at(place);
      } else {
        ++place;
      }
    }
  }
  template <class F>
  void walk_and_collect(F f) {
    std::uint32_t place = 0;
    for (object& value : values_) {
      if (f(value)) {
        dead_.push_back({owners_[place], slots_[owners_[place]].generation});
      }
      ++place;
    }
  }
  void release() {
    for (const handle& where : dead_) {
      remove(where);
    }
    dead_.clear();
  }
  [[nodiscard]] std::size_t size() const { return values_.size(); }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t used_up = none;  ///< a generation that no handle has

  struct entry {
    std::uint32_t place_or_next;  ///< in a free slot, the next one in the list
    std::uint32_t generation;
  };

  // The generation of a free slot is one that no handle has yet.
  [[nodiscard]] bool is_good(handle where) const {
    return where.slot < slots_.size() && slots_[where.slot].generation == where.generation;
  }
  void remove_at(std::uint32_t place) {
    const std::uint32_t last = owners_.back();
    if (place + 1 != values_.size()) {
      values_[place] = std::move(values_.back());
    }
    const std::uint32_t freed = std::exchange(owners_[place], last);
    slots_[last].place_or_next = place;
    values_.pop_back();
    owners_.pop_back();
    if (++slots_[freed].generation != used_up) {
      slots_[freed].place_or_next = std::exchange(first_free_, freed);
    }
  }

  std::vector<object> values_;
  std::vector<std::uint32_t> owners_;  ///< the slot of each value
  std::vector<entry> slots_;
  std::vector<handle> dead_;
  std::uint32_t first_free_ = none;
};

}  // namespace lido_bench
