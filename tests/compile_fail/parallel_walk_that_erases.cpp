#include <cstdint>

#include "lido/slot_map.hpp"

struct in_order {
  template <class Body>
  void operator()(std::uint32_t count, const Body& body) const {
    body(0, count);
  }
};

void refused(lido::slot_map<int>& map) {
  map.for_each(in_order(), [](int&) { return lido::step::erase; });
}
