#include "lido/checked.hpp"
#include "lido/lido.hpp"

void growing_checked_pool() {
  lido::object_pool<int, lido::policy::grow, lido::policy::checked> pool({.max_capacity = 10});
}
