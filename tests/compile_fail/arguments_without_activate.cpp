#include "lido/lido.hpp"

void use(lido::object_pool<int, lido::policy::keep_constructed<>>& pool) {
  (void)pool.try_acquire(1);
}
