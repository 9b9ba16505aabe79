#include "lido/lido.hpp"

void run(lido::object_pool<int>& pool) {
  pool.async_acquire([](int) {});
}
