#include <string>

#include "lido/keyed_resource_pool.hpp"

using pool = lido::keyed_resource_pool<std::string, int>;
pool make();
inline void use() {
  auto view = make().at("a");
  (void)view.acquire();
}
