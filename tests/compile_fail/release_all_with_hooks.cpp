#include "lido/lido.hpp"

struct kept_traits : lido::pool_traits<int> {
  using hooks = lido::keep;
};

void release_all_with_hooks(lido::object_pool<int, kept_traits>& pool) {
  pool.release_all();
}
