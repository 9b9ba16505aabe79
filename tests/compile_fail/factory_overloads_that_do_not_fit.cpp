#include "lido/resource_pool.hpp"

struct factory {
  int create();
  bool validate();
  bool validate(const lido::create_context& context);
  template <class T>
  bool validate(T* idle);
};
lido::resource_pool<int> pool(factory{});
