#include <vector>
#include "lido/object_pool.hpp"

std::vector<lido::object_pool<long>> pools(4);
