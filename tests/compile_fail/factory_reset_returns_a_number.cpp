#include "lido/resource_pool.hpp"

struct factory {
  int create();
  int reset(int& used);
};
lido::resource_pool<int> pool(factory{});
