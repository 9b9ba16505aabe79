#include "lido/concurrent_slot_map.hpp"

void refused(lido::concurrent_slot_map<int>& map, lido::slot_handle<int> one) {
  map.visit(one, [](int& value, lido::slot_handle<int>) { ++value; });
}
