#include "lido/lido.hpp"

void copied_lease(lido::object_pool<int>& pool) {
  const auto held = pool.acquire(1);
  const auto copy = held;
}
