#include "lido/object_pool.hpp"

void object_wait_without_unit(lido::object_pool<int>& pool) {
  (void)pool.acquire_for(5);
}
