#include "lido/lido.hpp"

lido::object_pool<const int> pool(4);
