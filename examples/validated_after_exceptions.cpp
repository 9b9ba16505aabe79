// No exception shows whether the connection still works, so it is validated before its next use.
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <stdexcept>

struct connection {
  int number;
  bool is_broken = false;
};

struct connector {
  int made = 0;

  connection create() { return {.number = ++made}; }
  static bool validate(const connection& idle) { return !idle.is_broken; }
};

// [snippet]
lido::resource_pool_options validated_after_exceptions() {
  return {.max_size = 1,
          .name = "db",
          .after_exception = lido::after_exception::validate,
          .maintenance = lido::maintenance::own_threads};  // which slow validations keep busy
}
// [/snippet]

void fail(lido::resource_pool<connection>& db, bool breaks) try {
  db.with([&](connection& mine) {
    std::cout << "connection " << mine.number << (breaks ? " breaks\n" : " fails\n");
    mine.is_broken = breaks;
    throw std::runtime_error("no answer");
  });
} catch (const std::runtime_error&) {  // as expected
}

int main() try {
  lido::resource_pool<connection> db(connector{}, validated_after_exceptions());
  fail(db, /*breaks=*/false);
  fail(db, /*breaks=*/true);
  fail(db, /*breaks=*/false);
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   connection 1 fails
//   connection 1 breaks
//   connection 2 fails
