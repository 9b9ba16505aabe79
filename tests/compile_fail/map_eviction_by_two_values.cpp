#include <functional>

#include "lido/slot_map.hpp"

void refused(lido::concurrent_slot_map<int>& map) {
  (void)map.emplace_or_evict(std::less<>(), 1);
}
