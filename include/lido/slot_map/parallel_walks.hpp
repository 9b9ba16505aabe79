/// @file
/// Public: the walks of a slot_map on several threads.
#pragma once

#include <cstdint>
#include <utility>

#include "lido/slot_map/parallel.hpp"

namespace lido::detail {

/// Base of `slot_map`, which is `Map`.
template <class Map>
class parallel_walks {
 public:
  /// Calls `f(T&)` or `f(T&, handle)` for each value, from as many threads as `executor` likes: see
  /// parallel.hpp, and lido/tbb.hpp for `lido::par`. What f returns: nothing, or false to end the
  /// range that an executor is at. With `compaction_mode` deferred it closes holes first, and
  /// throws what moving throws. Requires: f only calls functions of the map that are const.
  template <parallel_executor Executor, class F>
  void for_each(const Executor& executor, F f) {
    auto& map = static_cast<Map&>(*this);
    map.close_holes_before_walk();
    walk(map, executor, [&](std::uint32_t place) {
      return call_in_parallel(f, map.value_at(place), [&] { return map.handle_at(place); });
    });
  }

  /// As above with `const T&`. Steps over holes, and may run beside other const functions.
  template <parallel_executor Executor, class F>
  void for_each(const Executor& executor, F f) const {
    const auto& map = static_cast<const Map&>(*this);
    walk(map, executor, [&](std::uint32_t place) {
      return call_in_parallel(f, std::as_const(map.value_at(place)),
                              [&] { return map.handle_at(place); });
    });
  }

 protected:
  parallel_walks() = default;
  ~parallel_walks() = default;

 private:
  template <class Executor, class Visit>
  static void walk(const Map& map, const Executor& executor, const Visit& visit) {
    executor(map.store_.end(), [&](std::uint32_t first, std::uint32_t last) {
      walk_range(map.store_, first, last, visit);
    });
  }
};

}  // namespace lido::detail
