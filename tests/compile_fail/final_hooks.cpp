#include "lido/lido.hpp"

struct own_hooks final {
  void activate(int& object);
};
struct traits : lido::pool_traits<int> {
  using hooks = own_hooks;
};
lido::object_pool<int, traits> pool(4);
