#include <string>

#include "lido/keyed_resource_pool.hpp"

struct factory {
  int create();
};
lido::keyed_resource_pool<std::string, int> pool(factory{});
