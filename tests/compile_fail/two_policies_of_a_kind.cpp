#include "lido/lido.hpp"

lido::object_pool<int, lido::policy::no_cache, lido::policy::locked_cache> pool(4);
