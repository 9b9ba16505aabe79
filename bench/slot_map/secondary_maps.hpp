/// @file
/// secondary_map and what a user would use instead, with one interface for all: data beside some
/// values of a slot map, reached by their handles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <lido/slot_map.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "objects.hpp"

namespace lido_bench {

using object_handle = lido::slot_handle<object>;

/// Data that some objects have.
struct light {
  float strength = 1;
  float change = 0.5F;
  float red = 1;
  float green = 1;

  void move() { strength += change; }
};

class lido_secondary_map {
 public:
  static constexpr std::string_view name = "lido";

  void insert(object_handle owner, const light& value) { map_.insert(owner, value); }
  void erase(object_handle owner) { map_.erase(owner); }
  light* find(object_handle owner) { return map_.find(owner); }
  template <class F>
  void walk(F f) {
    map_.for_each(f);
  }

 private:
  lido::secondary_map<object, light> map_;
};

/// Walks the values of a secondary_map as an array.
class lido_secondary_values {
 public:
  static constexpr std::string_view name = "lido_values";

  void insert(object_handle owner, const light& value) { map_.insert(owner, value); }
  template <class F>
  void walk(F f) {
    for (light& value : map_.values()) {
      f(value);
    }
  }

 private:
  lido::secondary_map<object, light> map_;
};

/// An array indexed by slot, as secondary_map was before: a walk examines all slots.
class slot_array {
 public:
  static constexpr std::string_view name = "slot_array";

  void insert(object_handle owner, const light& value) {
    if (owner.index() >= entries_.size()) {
      entries_.resize(std::size_t{owner.index()} + 1);
    }
    entries_[owner.index()] = {owner.generation(), value};
  }
  void erase(object_handle owner) {
    if (find(owner) != nullptr) {
      entries_[owner.index()].value.reset();
    }
  }
  light* find(object_handle owner) {
    const bool known = owner.index() < entries_.size() &&
                       entries_[owner.index()].generation == owner.generation() &&
                       entries_[owner.index()].value;
    return known ? &*entries_[owner.index()].value : nullptr;
  }
  template <class F>
  void walk(F f) {
    for (entry& each : entries_) {
      if (each.value) {
        f(*each.value);
      }
    }
  }

 private:
  struct entry {
    std::uint32_t generation = 0;
    std::optional<light> value;
  };
  std::vector<entry> entries_;
};

class hash_map {
 public:
  static constexpr std::string_view name = "std_unordered_map";

  void insert(object_handle owner, const light& value) { map_.insert_or_assign(owner, value); }
  void erase(object_handle owner) { map_.erase(owner); }
  light* find(object_handle owner) {
    const auto found = map_.find(owner);
    return found != map_.end() ? &found->second : nullptr;
  }
  template <class F>
  void walk(F f) {
    for (auto& [owner, value] : map_) {
      f(value);
    }
  }

 private:
  std::unordered_map<object_handle, light> map_;
};

/// An array of the values alone, the floor of a walk.
class value_vector {
 public:
  static constexpr std::string_view name = "std_vector";

  void insert(object_handle /*owner*/, const light& value) { values_.push_back(value); }
  template <class F>
  void walk(F f) {
    for (light& value : values_) {
      f(value);
    }
  }

 private:
  std::vector<light> values_;
};

}  // namespace lido_bench
