#include "lido/resource_pool.hpp"

struct factory {
  int create();
  void destroy(int& ended) noexcept;
};
void replace(lido::resource_pool<int>& pool) {
  pool.replace_factory(factory{});
}
