// Uses the installed target lido::libpq.
#include <lido/libpq.hpp>

int main() {
  lido::resource_pool<lido::postgres_connection> pool(lido::postgres_factory({}), {.max_size = 1});
  return static_cast<int>(pool.stats().live);
}
