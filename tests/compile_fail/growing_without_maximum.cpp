#include "lido/lido.hpp"

void growing_without_maximum() {
  lido::object_pool<int, lido::policy::grow> pool(10);
}
