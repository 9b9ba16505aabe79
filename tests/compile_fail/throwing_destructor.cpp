#include "lido/lido.hpp"

struct throwing {
  ~throwing() noexcept(false) {}
};

lido::object_pool<throwing> pool(4);
