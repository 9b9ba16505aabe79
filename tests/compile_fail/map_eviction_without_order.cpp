#include "lido/slot_map.hpp"

struct colour {
  int number;
};

void refused(lido::concurrent_slot_map<int>& map) {
  (void)map.emplace_or_evict([](int number) { return colour{number}; }, 1);
}
