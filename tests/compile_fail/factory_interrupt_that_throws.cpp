#include "lido/resource_pool.hpp"

struct factory {
  int create();
  void interrupt(int& used);
};
lido::resource_pool<int> pool(factory{});
