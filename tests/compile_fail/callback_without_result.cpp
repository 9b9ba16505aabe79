#include "lido/resource_pool.hpp"

void ask(lido::resource_pool<int>& pool) {
  pool.async_acquire([](lido::resource_lease<int>) {});
}
