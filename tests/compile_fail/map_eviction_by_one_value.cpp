#include "lido/slot_map.hpp"

void refused(lido::slot_map<int>& map) {
  (void)map.emplace_or_evict([](int loudness) { return loudness; }, 1);
}
