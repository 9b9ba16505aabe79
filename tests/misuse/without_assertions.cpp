// Compiled with LIDO_ASSERTIONS=0.
#include <iterator>
#include <ranges>
#include <stdexcept>

#include "one_mode.hpp"

void misuse_without_assertions() {
  lido::test::misuse_once_each();
  lido::test::leak_once();
}

bool own_range_is_refused() {
  lido::slot_map<int> map({.max_size = 8});
  const lido::slot_map<int>& same = map;
  map.emplace(1);
  const auto is_refused = [&map](auto&& values) {
    try {
      (void)map.insert_range(values);
    } catch (const std::invalid_argument&) {
      return map.size() == 1;
    }
    return false;
  };
  return is_refused(map) && is_refused(same) && is_refused(map.values()) &&
         is_refused(same.snapshot().values) &&
         is_refused(std::ranges::subrange(map.begin(), map.end())) &&
         is_refused(std::ranges::subrange(std::make_move_iterator(map.begin()),
                                          std::make_move_iterator(map.end())));
}
