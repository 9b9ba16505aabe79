// sort moves values into the slots of others.
#include <lido/slot_map.hpp>

struct risky {
  risky() = default;
  risky(risky&& other);
  int value = 0;
};

void use(lido::slot_map<risky>& map) {
  map.sort([](const risky& a, const risky& b) { return a.value < b.value; });
}
