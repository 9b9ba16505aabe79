// The types differ, because compilers give the message only once for each type.
#include "lido/asio.hpp"

void asio_waits_without_unit(lido::object_pool<int>& objects, lido::resource_pool<int>& pool) {
  const auto done = [](const auto&... /*result*/) {};
  lido::async_acquire(objects, short{5}, done);
  lido::async_acquire(pool, 5, done);
  lido::async_try_acquire(pool, 5U, done);
  lido::async_close(pool, 5L, done);
  (void)lido::async_with(pool, 5UL, done);
}
