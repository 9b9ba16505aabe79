#include "lido/resource_pool.hpp"

struct factory {
  int create();
  void destroy(int& ended) noexcept;
};
lido::resource_pool<int> pool(factory{});
