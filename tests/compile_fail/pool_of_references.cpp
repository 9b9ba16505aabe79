#include "lido/lido.hpp"

lido::object_pool<int&> pool(4);
