// The control: what the others get wrong, done right.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "lido/concurrent_slot_map.hpp"
#include "lido/freelist/boost_stack.hpp"
#include "lido/keyed_resource_pool.hpp"
#include "lido/lido.hpp"
#include "lido/resource_pool.hpp"
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

struct factory {
  int create();
  int create(const lido::create_context& context);
  bool validate(const int& idle);
  bool validate(const int& idle, int depth);
  template <class T>
  void reset(T& used);
  bool destroy(int ended, lido::destroy_reason why) const noexcept;
};

struct bare_factory final {
  int operator()() const;
};

struct callable_members {
  std::function<int()> create;
  std::function<bool(int&)> validate;
  bool (*reset)(int& used);
};

struct from_a_name {
  explicit from_a_name(const std::string& name);
};

struct naming_hooks {
  from_a_name create();
  void activate(from_a_name& object, const std::string& name);
};

void accepted() {
  using namespace lido::policy;
  lido::object_pool<int, no_cache, boost_list, fail, track_in_use> pool(4);
  auto held = pool.acquire(1);
  const auto moved = std::move(held);
  pool.for_each_in_use([](int& object) { ++object; });
  lido::slot_map<int, map_hooks> map;
  map.for_each(in_order(), [](int& value) { return value > 0; });
  lido::resource_pool<int> resources(factory{});
  resources.replace_factory(bare_factory{});
  resources.replace_factory(callable_members{});
  resources.replace_factory([] { return 1; });
  resources.replace_factory(+[] { return 1; });
  resources.async_acquire([own = std::make_unique<int>()](lido::acquire_result<int>) {});
}

template class lido::object_pool<std::string, lido::policy::checked>;
template class lido::object_pool<int, lido::policy::block, lido::policy::track_in_use>;
template class lido::object_pool<int, lido::policy::grow, lido::policy::keep_constructed<>>;
template class lido::object_pool<from_a_name>;
template class lido::object_pool<from_a_name, lido::policy::checked>;
template class lido::object_pool<from_a_name, lido::policy::grow>;
template class lido::object_pool<from_a_name, lido::policy::keep_constructed<naming_hooks>>;
template class lido::slot_map<std::string>;
template class lido::concurrent_slot_map<std::string>;
template class lido::resource_pool<std::string>;
template class lido::keyed_resource_pool<std::string, std::string>;
