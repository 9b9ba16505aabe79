#include "lido/concurrent_slot_map.hpp"

struct dangerous {
  ~dangerous() noexcept(false);
};
lido::concurrent_slot_map<dangerous> map(1);
