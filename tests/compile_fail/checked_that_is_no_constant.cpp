#include "lido/lido.hpp"

struct traits : lido::pool_traits<int> {
  static bool checked;
};
lido::object_pool<int, traits> pool(4);
