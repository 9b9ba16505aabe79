#include "lido/resource_pool.hpp"

struct factory final {
  int create();
  void destroy(lido::destroy_reason why, int& ended) noexcept;
};
lido::resource_pool<int> pool(factory{});
