// Exceptions that leave a connection clean do not cost it.
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <stdexcept>

/// The error in a complete answer, after which the connection is between two exchanges.
struct server_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct connection {
  int number = 0;
};

// [snippet]
struct connector {
  int made = 0;

  connection create() { return {.number = ++made}; }
  static bool is_clean_after(connection& /*used*/, const std::exception& thrown) {
    return dynamic_cast<const server_error*>(&thrown) != nullptr;  // asked by `with`
  }
};
// [/snippet]

template <class Exception>
void fail(lido::resource_pool<connection>& db) try {
  db.with([](const connection& mine) {
    std::cout << "connection " << mine.number << ": ";
    throw Exception("failed");
  });
} catch (const std::runtime_error& problem) {
  std::cout << problem.what() << '\n';
}

int main() try {
  lido::resource_pool<connection> db(connector{}, {.max_size = 1, .name = "db"});
  fail<server_error>(db);
  fail<std::runtime_error>(db);
  fail<server_error>(db);
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   connection 1: failed
//   connection 1: failed
//   connection 2: failed
