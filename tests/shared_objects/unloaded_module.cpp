// A module that contains Lido and can be unloaded, as without `-z nodelete`. One of its pools is in
// static storage, so that dlclose destroys it.
#include <memory>
#include <vector>

#include "lido/platform/compiler.hpp"
#include "lido/resource_pool.hpp"

namespace {

std::unique_ptr<lido::resource_pool<int>> make_pool() {
  return std::make_unique<lido::resource_pool<int>>(
      [] { return 1; }, lido::resource_pool_options{.max_size = 4, .min_idle = 2});
}

std::unique_ptr<lido::resource_pool<int>> late;

}  // namespace

// The only export.
extern "C" [[LIDO_VISIBLE]] int lido_test_use();
extern "C" int lido_test_use() {
  late = make_pool();
  std::vector<std::unique_ptr<lido::resource_pool<int>>> pools;
  int sum = *late->acquire();
  for (int i = 0; i < 10; ++i) {
    pools.push_back(make_pool());
    sum += *pools.back()->acquire();
  }
  return sum;
}
