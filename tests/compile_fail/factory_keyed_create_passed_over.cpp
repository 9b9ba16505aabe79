#include <string>

#include "lido/keyed_resource_pool.hpp"

struct factory {
  int operator()(const std::string& key);
  int create();
};
lido::keyed_resource_pool<std::string, int> pool(factory{});
