#include "lido/lido.hpp"

lido::object_pool<int, lido::checked_traits<int, 63>> pool(4);
