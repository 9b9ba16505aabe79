#include "lido/lido.hpp"

struct own_hooks {
  void destroy(int& object);
};
struct traits : lido::pool_traits<int> {
  using hooks = own_hooks;
};
lido::object_pool<int, traits> pool(4);
