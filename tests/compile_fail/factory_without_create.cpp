#include "lido/resource_pool.hpp"

struct factory {
  int create();  // the pool is to lend another type
};
lido::resource_pool<long> pool(factory{});
