#include "lido/resource_pool.hpp"

struct factory {
  int operator()();
  int* create();
};
lido::resource_pool<int> pool(factory{});
