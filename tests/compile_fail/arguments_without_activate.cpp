#include "lido/lido.hpp"

struct traits : lido::pool_traits<int> {
  using hooks = lido::keep;
};
void use(lido::object_pool<int, traits>& pool) {
  (void)pool.try_acquire(1);
}
