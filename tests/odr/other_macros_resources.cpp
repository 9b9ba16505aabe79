// Resource pools share containers and strings with the library: this must not link.
#include "lido/resource_pool.hpp"

int main() {
  const lido::resource_pool<int> pool([] { return 1; });
}
