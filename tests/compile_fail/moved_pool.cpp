#include <utility>
#include "lido/object_pool.hpp"

lido::object_pool<int> moved_pool(lido::object_pool<int>& pool) {
  return std::move(pool);
}
