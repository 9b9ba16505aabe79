// An erase moves the last value into the gap, by assignment if the move constructor may throw.
#include <lido/slot_map.hpp>

struct risky {
  risky() = default;
  risky(risky&& other);
};

void use(lido::secondary_map<int, risky>& map) {
  map.erase({});
}
