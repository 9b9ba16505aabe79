#include "lido/resource_pool.hpp"

lido::resource_pool<int> pool([] { return 1; }, {.max_szie = 10});
