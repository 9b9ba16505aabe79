/// @file
/// Public. `secondary_map<T, Value>`: extra data for values of a slot map, keyed by handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "lido/slot_map/slot_handle.hpp"
#include "lido/slot_map/value_aside.hpp"

namespace lido::inline v0 {

/// Stores an entry of type Value for some of the handles of one `slot_map<T>`, in an array indexed
/// by slot. A secondary_map is not connected to that slot map, so an entry may outlive the value
/// that it belongs to. The entry stays until it is erased, or until a later value of the same slot
/// gets an entry. A look-up takes constant time.
///
/// Thread safety is that of std::vector. A Value moves when the array grows.
template <class T, class Value>
class secondary_map {
 public:
  using handle_type = slot_handle<T>;

  /// Adds an entry for `handle`, or replaces the existing one. An entry of an earlier handle of the
  /// same slot is replaced, too. Returns nullptr, without effect, if `handle` is null, or if a
  /// later handle of its slot has had an entry. Allocates memory for every slot up to that of
  /// `handle`, so check handles from untrusted sources first. Throws std::bad_alloc, and whatever
  /// copying or moving a Value throws. `value` may be an entry of this map.
  Value* insert(handle_type handle, const Value& value) { return put(handle, value); }
  Value* insert(handle_type handle, Value&& value) { return put(handle, std::move(value)); }

  /// Returns a pointer to the entry, valid until the next insert; nullptr if there is no entry.
  [[nodiscard]] Value* find(handle_type handle) noexcept {
    const bool known = handle.index() < entries_.size() &&
                       entries_[handle.index()].generation == handle.generation() &&
                       entries_[handle.index()].value;
    return known ? &*entries_[handle.index()].value : nullptr;
  }
  [[nodiscard]] const Value* find(handle_type handle) const noexcept {
    return const_cast<secondary_map&>(*this).find(handle);  // NOLINT(*-const-cast): changes nothing
  }

  /// Erases the entry of `handle`. Returns false if there is none.
  bool erase(handle_type handle) noexcept {
    return find(handle) != nullptr && remove(entries_[handle.index()]);
  }

  /// Erases the entries of all handles that are stale in `map`, and forgets their generations.
  /// Checks all slots.
  template <class Map>
  void erase_stale(const Map& map) noexcept {
    for (std::size_t slot = 0; slot != entries_.size(); ++slot) {
      if (!map.contains(handle_of(slot))) {
        remove(entries_[slot]);
        entries_[slot].generation = 0;  // `map.restore` may make an older handle valid again
      }
    }
  }

  /// Calls `f(Value&, handle)` for each entry. Checks all slots.
  template <class F>
  void for_each(F f) {
    for (std::size_t slot = 0; slot != entries_.size(); ++slot) {
      if (entries_[slot].value) {
        std::invoke(f, *entries_[slot].value, handle_of(slot));
      }
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct entry {
    std::uint32_t generation = 0;  ///< generation of the latest handle that had an entry
    std::optional<Value> value;
  };

  template <class Source>
  Value* put(handle_type handle, Source&& source) {
    if (!handle) {
      return nullptr;
    }
    auto value = detail::make_aside<Value>(std::forward<Source>(source));
    if (handle.index() >= entries_.size()) {
      entries_.resize(std::size_t{handle.index()} + 1);
    }
    entry& at = entries_[handle.index()];
    if (handle.generation() < at.generation) {
      return nullptr;
    }
    remove(at);
    at.value.emplace(std::move(*value));
    at.generation = handle.generation();
    ++size_;
    return &*at.value;
  }

  [[nodiscard]] handle_type handle_of(std::size_t slot) const noexcept {
    return {static_cast<std::uint32_t>(slot), entries_[slot].generation};
  }
  bool remove(entry& at) noexcept {
    const bool had = at.value.has_value();
    at.value.reset();
    size_ -= had ? 1 : 0;
    return had;
  }

  std::vector<entry> entries_;
  std::size_t size_ = 0;
};

}  // namespace lido::inline v0
