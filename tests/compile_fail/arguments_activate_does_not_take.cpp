#include "lido/lido.hpp"

struct own_hooks {
  void activate(int& object, int value);
};
struct traits : lido::pool_traits<int> {
  using hooks = own_hooks;
};
void use(lido::object_pool<int, traits>& pool) {
  (void)pool.try_acquire("one");
}
