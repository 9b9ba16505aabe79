#include "lido/resource_pool.hpp"

class factory {
 public:
  int create();

 private:
  void reset(int& used);
};
lido::resource_pool<int> pool(factory{});
