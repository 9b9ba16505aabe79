#include <iostream>

#include "lido/object_pool.hpp"

void use(const lido::object_pool<int>& pool) {
  std::cout << pool.stats();
}
