// Work that can wait for a better moment uses a connection only if one is idle.
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <string>

struct connection {
  void send(const std::string& line) { std::cout << "line " << ++lines << ": " << line << '\n'; }
  int lines = 0;
};
using connection_pool = lido::resource_pool<connection>;

// [snippet]
bool send_if_idle(connection_pool& db, const std::string& line) {
  auto lease = db.try_acquire_idle();  // connects, validates and waits for nothing
  if (lease) {
    lease->send(line);
  }
  return static_cast<bool>(lease);
}
// [/snippet]

int main() try {
  connection_pool db([] { return connection(); }, {.max_size = 1, .name = "db"});
  std::cout << (send_if_idle(db, "too early") ? "" : "nothing is idle\n");
  db.acquire().reset();
  send_if_idle(db, "in time");
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   nothing is idle
//   line 1: in time
