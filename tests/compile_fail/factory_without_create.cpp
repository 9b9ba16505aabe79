#include "lido/resource_pool.hpp"

struct factory {
  int create();  // what the pool is to lend is another type
};
lido::resource_pool<long> pool(factory{});
