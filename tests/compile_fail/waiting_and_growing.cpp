#include "lido/lido.hpp"

struct both {
  static constexpr bool waits = true;
  static constexpr bool grows = true;
};

void waiting_and_growing() {
  lido::object_pool<int, both> pool({.max_capacity = 10});
}
