#include "lido/lido.hpp"

void walk_without_tracking(lido::object_pool<int>& pool) {
  pool.for_each_in_use([](int& object) { ++object; });
}
