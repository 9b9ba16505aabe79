#include "lido/resource_pool.hpp"

void replace(lido::resource_pool<int>& pool) {
  pool.replace_factory([](int) { return 1; });
}
