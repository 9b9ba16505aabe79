// A test of your own code on Lido: does it release what it acquires, on every path?
#include <exception>
#include <iostream>
#include <lido/testing.hpp>

struct message {
  int number = 0;
};

// [snippet]
// The code under test takes its pool as a parameter. On one path it forgets its message.
template <class Pool>
bool deliver(Pool& pool, int number) {
  message* const sent = pool.try_acquire_ptr(number);
  if (sent == nullptr || number < 0) {
    return false;
  }
  pool.release(sent);
  return true;
}

void test_delivery() {
  lido::object_pool<message> pool(1000);
  lido::testing::leak_check guard{pool};
  std::cout << "a good number: " << deliver(pool, 1) << ", leaked: " << guard.leaked() << '\n';
  std::cout << "a bad number: " << deliver(pool, -1) << ", leaked: " << guard.leaked() << '\n';
  std::cout << lido::testing::conserved(pool) << '\n';
}  // the guard reports the leak to the misuse handler, which by default ends the program
// [/snippet]

int main() try {
  // Lets the program continue. In debug builds the end of the pool, too, is reported: an object is
  // in use then.
  lido::set_misuse_handler([](const lido::misuse& /*leak*/) noexcept {});
  test_delivery();
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   a good number: 1, leaked: 0
//   a bad number: 0, leaked: 1
//   conserved
