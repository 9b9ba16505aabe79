#include "lido/object_pool.hpp"

lido::object_pool<int, lido::checked_traits<int>> pool(4);
