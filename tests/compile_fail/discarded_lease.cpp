#include "lido/lido.hpp"

void discarded_lease(lido::object_pool<int>& pool) {
  pool.acquire(1);
}
