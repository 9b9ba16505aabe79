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

/// Stores a Value for some handles of one `slot_map<T>`, in an array by slot. It does not know that
/// map: an entry stays until it is erased, or a later value of its slot gets one. A look-up takes
/// constant time.
///
/// For one thread at a time, as std::vector. A Value moves when the array grows.
template <class T, class Value>
class secondary_map {
 public:
  using handle_type = slot_handle<T>;

  /// Replaces the entry of this handle, or of an older one of its slot. Returns nullptr, without
  /// effect, if the handle is null, or a later one has had an entry. Allocates memory for every
  /// slot up to this one: check foreign handles first. Throws std::bad_alloc, and what copying and
  /// moving throw. The value may be in this map.
  Value* insert(handle_type handle, const Value& value) { return put(handle, value); }
  Value* insert(handle_type handle, Value&& value) { return put(handle, std::move(value)); }

  /// Returns the entry, or nullptr if there is none. Valid until the next insert.
  [[nodiscard]] Value* find(handle_type handle) noexcept {
    const bool known = handle.index() < entries_.size() &&
                       entries_[handle.index()].generation == handle.generation() &&
                       entries_[handle.index()].value;
    return known ? &*entries_[handle.index()].value : nullptr;
  }
  [[nodiscard]] const Value* find(handle_type handle) const noexcept {
    return const_cast<secondary_map&>(*this).find(handle);  // NOLINT(*-const-cast): changes nothing
  }

  /// Erases the entry; returns false if there is none.
  bool erase(handle_type handle) noexcept {
    return find(handle) != nullptr && remove(entries_[handle.index()]);
  }

  /// Erases, and forgets, the entries of values that `map` no longer has. Checks all slots.
  template <class Map>
  void erase_stale(const Map& map) noexcept {
    for (std::size_t slot = 0; slot != entries_.size(); ++slot) {
      if (!map.contains(handle_of(slot))) {
        remove(entries_[slot]);
        entries_[slot].generation = 0;  // `restore` of the map may bring an older handle back
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
    std::uint32_t generation = 0;  ///< generation of the last handle with an entry
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
