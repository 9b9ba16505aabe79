// The types differ, because compilers give the message only once for each type.
#include "lido/resource_pool.hpp"

void resource_waits_without_unit(lido::resource_pool<int>& pool, lido::resource_lease<int>& lease) {
  const auto done = [](const auto& /*result*/) noexcept {};
  (void)pool.acquire_for(short{5});
  (void)pool.try_acquire_for(static_cast<signed char>(5));
  (void)pool.acquire_urgent(5U);
  (void)pool.try_acquire_urgent(5L);
  (void)pool.wait_until_idle(1, 5UL);
  (void)pool.co_acquire(5LL);
  (void)pool.co_try_acquire(5ULL);
  pool.async_acquire(done, 5.F);
  pool.async_close(done, 5.);
  (void)pool.close(5.L);
  lease.extend('5');
}
