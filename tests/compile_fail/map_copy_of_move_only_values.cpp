// A copy of a map copies its values.
#include <lido/slot_map.hpp>
#include <memory>

void use(const lido::slot_map<std::unique_ptr<int>>& map) {
  const lido::slot_map<std::unique_ptr<int>> copy(map);
}
