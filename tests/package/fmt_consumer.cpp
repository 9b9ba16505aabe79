// Uses the installed target lido::fmt.
#include <lido/fmt.hpp>
#include <lido/object_pool.hpp>

int main() {
  lido::object_pool<int> pool({.capacity = 1});
  return fmt::format("{}", pool.stats()).empty() ? 1 : 0;
}
