// Runs an example, whose main has another name here, and checks that it allocates nothing.
#include <cstdio>

#include "support/failing_new.hpp"

int example_main();

int main() {
  const long before = lido::test::allocations().allocations;
  const int result = example_main();
  const long allocated = lido::test::allocations().allocations - before;
  if (allocated != 0) {
    (void)std::fprintf(stderr, "the example has allocated %ld times\n", allocated);
  }
  return result != 0 || allocated != 0 ? 1 : 0;
}
