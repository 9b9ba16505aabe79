// Uses the installed target lido::tbb.
#include <lido/keyed_resource_pool.hpp>
#include <lido/slot_map.hpp>
#include <lido/tbb.hpp>

int main() {
  lido::keyed_resource_pool<int, int> pool([](const int& key) { return key; }, {.max_total = 1});
  const bool is_lent = *pool.acquire(7) == 7;
  lido::concurrent_slot_map<int> values({.max_size = 8});
  (void)values.insert(1);
  values.for_each(lido::par, [](int& value) { --value; });
  return is_lent ? 0 : 1;
}
