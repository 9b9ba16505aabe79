#include "lido/lido.hpp"

struct hooks {
  void activate(int& object, int value);
};
void use(lido::object_pool<int, lido::policy::keep_constructed<hooks>>& pool) {
  (void)pool.try_acquire("one");
}
