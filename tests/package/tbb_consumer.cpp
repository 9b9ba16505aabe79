// Uses the installed target lido::tbb.
#include <lido/concurrent_slot_map.hpp>
#include <lido/tbb.hpp>

int main() {
  lido::concurrent_slot_map<int> values({.max_size = 8});
  const auto handle = values.insert(1);
  values.for_each(lido::par, [](int& value) { --value; });
  int left = 1;
  (void)values.read(handle, [&left](const int& value) { left = value; });
  return left;
}
