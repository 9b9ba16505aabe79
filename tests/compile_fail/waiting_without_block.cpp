#include <chrono>

#include "lido/lido.hpp"

void waiting_without_block(lido::object_pool<int>& pool) {
  auto one = pool.acquire_for(std::chrono::seconds(1));
  *one = 1;
}
