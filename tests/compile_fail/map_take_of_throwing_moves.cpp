// take moves a value out of the map.
#include <lido/slot_map.hpp>

struct risky {
  risky() = default;
  risky(risky&& other);
};

void use(lido::slot_map<risky>& map) {
  (void)map.take({});
}
