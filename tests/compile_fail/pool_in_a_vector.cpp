#include <vector>
#include "lido/object_pool.hpp"

void pool_in_a_vector(std::vector<lido::object_pool<int>>& pools) {
  pools.emplace_back(lido::object_pool_options{.capacity = 10});
}
