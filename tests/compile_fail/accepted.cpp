// The control: what the others get wrong, done right.
#include <cstdint>
#include <utility>

#include "lido/freelist/boost_stack.hpp"
#include "lido/lido.hpp"
#include "lido/slot_map.hpp"

struct map_hooks {
  void on_insert(int& value, lido::slot_handle<int> handle);
  void on_erase(const int& value, lido::slot_handle<int> handle) const noexcept;
};

struct in_order {
  template <class Body>
  void operator()(std::uint32_t count, const Body& body) const {
    body(0, count);
  }
};

void accepted() {
  using namespace lido::policy;
  lido::object_pool<int, no_cache, boost_list, fail, track_in_use> pool(4);
  auto held = pool.acquire(1);
  const auto moved = std::move(held);
  pool.for_each_in_use([](int& object) { ++object; });
  lido::slot_map<int, map_hooks> map;
  map.for_each(in_order(), [](int& value) { return value > 0; });
}
