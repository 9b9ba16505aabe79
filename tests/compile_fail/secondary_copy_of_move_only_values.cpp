// A copy of a secondary map copies its values.
#include <lido/slot_map.hpp>
#include <memory>

void use(const lido::secondary_map<int, std::unique_ptr<int>>& map) {
  const lido::secondary_map<int, std::unique_ptr<int>> copy(map);
}
