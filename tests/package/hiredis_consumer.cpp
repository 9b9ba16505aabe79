// Uses the installed target lido::hiredis.
#include <lido/hiredis.hpp>

int main() {
  lido::resource_pool<lido::redis_connection> pool(lido::redis_factory({}), {.max_size = 1});
  return static_cast<int>(pool.stats().live);
}
