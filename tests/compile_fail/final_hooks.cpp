#include "lido/lido.hpp"

struct hooks final {
  void activate(int& object);
};
lido::object_pool<int, lido::policy::keep_constructed<hooks>> pool(4);
