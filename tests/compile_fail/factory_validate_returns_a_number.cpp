#include "lido/resource_pool.hpp"

struct factory {
  int create();
  int validate(int& idle);
};
lido::resource_pool<int> pool(factory{});
