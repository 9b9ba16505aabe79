#include "lido/object_pool.hpp"

lido::object_pool<int> pool{{.capacity = 10, .registry = &lido::registry::global()}};
