#include "lido/lido.hpp"

struct traits : lido::pool_traits<int> {
  static constexpr int track_in_use = 2;
};
lido::object_pool<int, traits> pool(4);
