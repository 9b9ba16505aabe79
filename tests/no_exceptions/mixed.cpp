// One of the two files of a program, compiled with or without exceptions.
#include <lido/object_pool.hpp>

#if defined(LIDO_TEST_MAIN)
int use_pool();
int main() {
  lido::object_pool<int> pool(1);
  return *pool.acquire(use_pool());
}
#else
int use_pool() {
  lido::object_pool<int> pool(1);
  return *pool.acquire(0);
}
#endif
