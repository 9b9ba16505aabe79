#include <memory>

#include "lido/resource_pool.hpp"

void ask(lido::resource_pool<int>& pool) {
  pool.async_acquire([own = std::make_unique<int>()](auto, auto) {});
}
