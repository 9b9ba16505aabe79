#include "lido/freelist/boost_stack.hpp"
#include "lido/lido.hpp"

void growing_boost_list() {
  lido::object_pool<int, lido::policy::grow, lido::policy::boost_list> pool({.max_capacity = 10});
}
