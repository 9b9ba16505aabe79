// A walk of a const map erases nothing.
#include <lido/slot_map.hpp>

void use(const lido::secondary_map<int, int>& map) {
  map.for_each([](const int&) { return lido::step::erase; });
}
