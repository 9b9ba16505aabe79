/// @file
/// The contenders of the slot map benches: each can add, remove, find and walk.
///
/// `add` constructs the object in place as far as the container can. A copy of an object just made
/// on the stack waits for older stores, and that wait would be most of the measured time. `walk(f)`
/// calls f(object&). `prune(f)` does so too, and removes during the walk each object for which f
/// returns true. `walk_and_collect(f)` remembers those objects, and `release` then removes them. If
/// `keeps_handles` is false, a handle is valid until the next removal.
#pragma once

#include <boost/container/stable_vector.hpp>
#include <cstddef>
#include <iterator>
#include <lido/slot_map.hpp>
#include <list>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "objects.hpp"
#ifdef LIDO_BENCH_COLONY
#include <plf_colony.h>
#endif

namespace lido_bench {

template <lido::compaction_mode Mode>
class lido_map {
 public:
  static constexpr bool keeps_handles = true;
  static constexpr std::string_view name =
      Mode == lido::compaction_mode::immediate  ? "lido_immediate"
      : Mode == lido::compaction_mode::deferred ? "lido_deferred"
                                                : "lido_manual";
  using handle = lido::slot_handle<object>;

  handle add(std::int32_t points) { return map_.emplace(points); }
  void remove(handle where) { map_.erase(where); }
  object* find(handle where) { return map_.find(where); }
  template <class F>
  void walk(F f) {
    map_.for_each(f);
  }
  template <class F>
  void prune(F f) {
    map_.for_each([&f](object& value) { return f(value) ? lido::step::erase : lido::step::next; });
  }
  template <class F>
  void walk_and_collect(F f) {
    map_.for_each([&](object& value) {
      if (f(value)) {
        dead_.push_back(map_.handle_of(value));
      }
    });
  }
  void release() {
    for (const handle& where : dead_) {
      map_.erase(where);
    }
    dead_.clear();
  }
  [[nodiscard]] std::size_t size() const { return map_.size(); }

 private:
  lido::slot_map<object> map_{{.compaction = Mode}};
  std::vector<handle> dead_;
};

/// An array without handles: an index names a value until the next removal.
template <class Array>
class swap_and_pop {
 public:
  static constexpr bool keeps_handles = false;
  using handle = std::size_t;

  handle add(std::int32_t points) {
    values_.emplace_back(points);
    return values_.size() - 1;
  }
  void remove(handle where) {
    values_[where] = std::move(values_.back());
    values_.pop_back();
  }
  object* find(handle where) { return &values_[where]; }
  template <class F>
  void walk(F f) {
    for (object& value : values_) {
      f(value);
    }
  }
  template <class F>
  void prune(F f) {
    for (std::size_t index = 0; index != values_.size();) {
      if (f(values_[index])) {
        remove(index);
      } else {
        ++index;
      }
    }
  }
  template <class F>
  void walk_and_collect(F f) {
    std::size_t index = 0;
    for (object& value : values_) {
      if (f(value)) {
        dead_.push_back(index);
      }
      ++index;
    }
  }
  void release() {  // from the end, so that earlier indices stay valid
    for (; !dead_.empty(); dead_.pop_back()) {
      remove(dead_.back());
    }
  }
  [[nodiscard]] std::size_t size() const { return values_.size(); }

 private:
  Array values_;
  std::vector<std::size_t> dead_;
};

struct std_vector : swap_and_pop<std::vector<object>> {
  static constexpr std::string_view name = "std_vector";
};
struct stable_vector : swap_and_pop<boost::container::stable_vector<object>> {
  static constexpr std::string_view name = "boost_stable_vector";
};

/// A container of nodes: iterators are the handles.
template <class Nodes>
class node_container {
 public:
  static constexpr bool keeps_handles = true;
  using handle = typename Nodes::iterator;

  handle add(std::int32_t points) { return values_.emplace(values_.end(), points); }
  void remove(handle where) { values_.erase(where); }
  object* find(handle where) { return &*where; }
  template <class F>
  void walk(F f) {
    for (object& value : values_) {
      f(value);
    }
  }
  template <class F>
  void prune(F f) {
    for (auto it = values_.begin(); it != values_.end();) {
      it = f(*it) ? values_.erase(it) : std::next(it);
    }
  }
  template <class F>
  void walk_and_collect(F f) {
    for (auto it = values_.begin(); it != values_.end(); ++it) {
      if (f(*it)) {
        dead_.push_back(it);
      }
    }
  }
  void release() {
    for (const handle& where : dead_) {
      values_.erase(where);
    }
    dead_.clear();
  }
  [[nodiscard]] std::size_t size() const { return values_.size(); }

 protected:
  Nodes values_;

 private:
  std::vector<handle> dead_;
};

struct std_list : node_container<std::list<object>> {
  static constexpr std::string_view name = "std_list";
};

#ifdef LIDO_BENCH_COLONY
struct colony : node_container<plf::colony<object>> {
  static constexpr std::string_view name = "plf_colony";
  handle add(std::int32_t points) { return values_.emplace(points); }
};
#endif

/// Written to the description of dcm_pool: objects in a vector, ids mapped to indices by a hash
/// table, holes closed when a walk begins. Objects are assigned, not constructed.
class hash_map_pool {
 public:
  static constexpr bool keeps_handles = true;
  static constexpr std::string_view name = "hash_map_pool";
  using handle = int;

  handle add(std::int32_t points) {
    const int id = next_id_++;
    std::size_t index = nodes_.size();
    if (holes_.empty()) {
      nodes_.emplace_back(points, id);
    } else {
      index = holes_.back();
      holes_.pop_back();
      nodes_[index] = node(points, id);
    }
    indices_.emplace(id, index);
    return id;
  }
  void remove(handle id) {
    const auto found = indices_.find(id);
    const std::size_t index = found->second;
    indices_.erase(found);
    if (index + 1 == nodes_.size()) {
      nodes_.pop_back();
    } else {
      nodes_[index].id = 0;
      holes_.push_back(index);
    }
  }
  object* find(handle id) {
    const auto found = indices_.find(id);
    return found != indices_.end() ? &nodes_[found->second].value : nullptr;
  }
  template <class F>
  void walk(F f) {
    close_holes();
    for (node& each : nodes_) {
      f(each.value);
    }
  }
  template <class F>
  void prune(F f) {
    walk_and_collect(f);
    release();
  }
  template <class F>
  void walk_and_collect(F f) {
    close_holes();
    for (node& each : nodes_) {
      if (f(each.value)) {
        dead_.push_back(each.id);
      }
    }
  }
  void release() {
    for (const int id : dead_) {
      remove(id);
    }
    dead_.clear();
  }
  [[nodiscard]] std::size_t size() const { return indices_.size(); }

 private:
  struct node {
    node(std::int32_t points, int own) : value(points), id(own) {}
    object value;
    int id;
  };

  void close_holes() {
    for (const std::size_t hole : holes_) {
      while (!nodes_.empty() && nodes_.back().id == 0) {
        nodes_.pop_back();
      }
      if (hole < nodes_.size()) {
        nodes_[hole] = nodes_.back();
        indices_[nodes_[hole].id] = hole;
        nodes_.pop_back();
      }
    }
    holes_.clear();
  }

  std::vector<node> nodes_;
  std::unordered_map<int, std::size_t> indices_;
  std::vector<std::size_t> holes_;
  std::vector<int> dead_;
  int next_id_ = 1;
};

}  // namespace lido_bench
