// Compiled with LIDO_ASSERTIONS=0.
#include <stdexcept>

#include "one_mode.hpp"

void misuse_without_assertions() {
  lido::test::misuse_once_each();
  lido::test::leak_once();
}

bool own_range_is_refused() {
  lido::slot_map<int> map;
  map.emplace(1);
  for (const bool whole : {true, false}) {
    try {
      (void)(whole ? map.insert_range(map) : map.insert_range(map.values()));
      return false;
    } catch (const std::invalid_argument&) {
    }
  }
  return map.size() == 1;
}
