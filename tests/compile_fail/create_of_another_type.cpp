#include "lido/lido.hpp"

struct hooks {
  int* create();
};
lido::object_pool<int, lido::policy::keep_constructed<hooks>> pool(4);
