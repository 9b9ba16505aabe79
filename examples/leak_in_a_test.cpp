// A test of one's own code on Lido, under conditions that hardly ever happen by chance.
#include <cstddef>
#include <exception>
#include <iostream>
#include <lido/testing.hpp>

struct message {
  int number = 0;
};

// [snippet]
// The code under test takes its pool as a parameter. It believes that a pool with room for a
// thousand never refuses one.
template <class Pool>
int deliver(Pool& pool, int count) {
  int delivered = 0;
  for (int number = 0; number < count; ++number) {
    if (const auto slot = pool.try_acquire(number)) {
      ++delivered;
    }  // and otherwise? that case was forgotten
  }
  return delivered;
}

void ordinary_test() {
  lido::object_pool<message> pool{1000};
  std::cout << "ordinary: " << (deliver(pool, 500) == 500 ? "passes" : "fails") << '\n';
}

void tortured_test() {
  const lido::testing::torture_scope torture{{.seed = 7, .refusals = 50}};
  lido::object_pool<message, lido::testing::torture<>> pool{1000};
  std::cout << "tortured: " << (deliver(pool, 500) == 500 ? "passes" : "fails") << '\n';
  std::cout << lido::testing::conserved(pool) << '\n';
}
// [/snippet]

int main() try {
  ordinary_test();
  tortured_test();
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   ordinary: passes
//   tortured: fails
//   conserved
