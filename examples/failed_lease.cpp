// A thread learns from its lease that the server has become read-only: all connections as old as
// its own are closed.
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <stdexcept>
#include <string>
#include <vector>

struct read_only : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct connection {
  std::string host;
  const std::string* primary;

  void write(const std::string& row) const {
    if (host != *primary) {
      throw read_only(host);
    }
    std::cout << host << " wrote " << row << '\n';
  }
};
using connection_pool = lido::resource_pool<connection>;

// [snippet]
void write_all(connection_pool& db, const std::vector<std::string>& rows) {
  auto lease = db.acquire();
  for (const std::string& row : rows) {
    try {
      lease->write(row);
    } catch (const read_only&) {
      db.flush(lease);  // it and all that are as old, once, however many threads find out
      lease.reset();    // destroyed, as it is flushed
      lease = db.acquire();
      lease->write(row);
    }
  }
}
// [/snippet]

int main() try {
  std::string primary = "first";
  connection_pool db([&] { return connection{primary, &primary}; }, {.max_size = 4, .name = "db"});
  write_all(db, {"one"});
  primary = "second";
  write_all(db, {"two", "three"});
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   first wrote one
//   second wrote two
//   second wrote three
