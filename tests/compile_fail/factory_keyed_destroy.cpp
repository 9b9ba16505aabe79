#include <string>

#include "lido/keyed_resource_pool.hpp"

struct factory {
  int create(const std::string& key);
  void destroy(const std::string& key, int& ended, lido::destroy_reason why) noexcept;
};
lido::keyed_resource_pool<std::string, int> pool(factory{});
