// The control: what the others get wrong, done right.
#include <utility>

#include "lido/freelist/boost_stack.hpp"
#include "lido/lido.hpp"

void accepted() {
  using namespace lido::policy;
  lido::object_pool<int, no_cache, boost_list, fail, track_in_use> pool(4);
  auto held = pool.acquire(1);
  const auto moved = std::move(held);
  pool.for_each_in_use([](int& object) { ++object; });
}
