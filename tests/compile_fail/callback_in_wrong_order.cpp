#include "lido/resource_pool.hpp"

void ask(lido::resource_pool<int>& pool) {
  pool.async_acquire([](std::exception_ptr, lido::resource_lease<int>) {});
}
