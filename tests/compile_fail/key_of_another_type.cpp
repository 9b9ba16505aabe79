#include <string>

#include "lido/keyed_resource_pool.hpp"

struct point {};
inline void use(lido::keyed_resource_pool<std::string, int>& pool) {
  (void)pool.at(point{}).acquire();
}
