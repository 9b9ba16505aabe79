// The control: correct versions of the mistakes in the other files.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "lido/concurrent_slot_map.hpp"
#include "lido/freelist/boost_list.hpp"
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

struct naming_traits : lido::pool_traits<from_a_name> {
  using hooks = naming_hooks;
};
struct keeping_traits : lido::pool_traits<int> {
  using hooks = lido::keep;
};
struct tracking_traits : lido::pool_traits<int> {
  static constexpr bool track_in_use = true;
};

void accepted() {
  lido::object_pool<int, tracking_traits> pool(
      {.capacity = 4, .caches = lido::cache_kind::none, .list = lido::boost_list()});
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

template class lido::object_pool<std::string, lido::checked_traits<std::string>>;
template class lido::object_pool<int, tracking_traits>;
template class lido::object_pool<int, keeping_traits>;
template class lido::object_pool<from_a_name>;
template class lido::object_pool<from_a_name, lido::checked_traits<from_a_name>>;
template class lido::object_pool<from_a_name, naming_traits>;
template class lido::slot_map<std::string>;
template class lido::concurrent_slot_map<std::string>;
template class lido::resource_pool<std::string>;
template class lido::keyed_resource_pool<std::string, std::string>;
