#include "lido/concurrent_slot_map.hpp"

void refused(const lido::concurrent_slot_map<int>& map, lido::slot_handle<int> one) {
  map.read(one, [](int& value) { ++value; });
}
