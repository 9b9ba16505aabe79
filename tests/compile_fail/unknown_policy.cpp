#include "lido/lido.hpp"

struct no_policy {};

lido::object_pool<int, no_policy> pool(4);
