#include <stop_token>

#include "lido/lido.hpp"

struct own_hooks {
  void activate(int& object);
  void activate(int& object, std::stop_token stop);
};
struct traits : lido::pool_traits<int> {
  using hooks = own_hooks;
};
void run(lido::object_pool<int, traits>& pool, std::stop_token stop) {
  auto mine = pool.acquire(stop);
}
