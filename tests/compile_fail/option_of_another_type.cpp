#include "lido/object_pool.hpp"

lido::object_pool<int> pool{{.capacity = "ten"}};
