#include <lido/object_pool.hpp>

int main() {
  lido::object_pool<int> pool{{.capacity = 1}};
  const auto one = pool.acquire(1);
  return pool.try_acquire(2) ? 1 : 0;
}
