#include <string>

#include "lido/keyed_resource_pool.hpp"

struct factory {
  int create(const std::string& key);
  bool validate(const std::string& key, int& idle);
};
lido::keyed_resource_pool<std::string, int> pool(factory{});
