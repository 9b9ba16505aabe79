#include "lido/object_pool.hpp"

void run(lido::object_pool<int>& pool) {
  (void)pool.co_acquire(1);
}
