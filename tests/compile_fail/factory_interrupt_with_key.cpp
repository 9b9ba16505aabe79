#include "lido/keyed_resource_pool.hpp"

struct factory {
  int create(int key);
  void interrupt(int key, int& used) noexcept;
};
lido::keyed_resource_pool<int, int> pool(factory{});
