// The password of a server changes while the program runs.
#include <chrono>
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <string>

using namespace std::chrono_literals;

std::string password_of_server = "old";

struct connection {};
using connection_pool = lido::resource_pool<connection>;

// [snippet]
struct connector {
  std::string password;

  connection create() const {
    if (password != password_of_server) {
      throw lido::permanent_failure("wrong password");  // ends all waits at once
    }
    return {};
  }
};

bool change_password(connection_pool& db, const std::string& password) {
  db.replace_factory(connector{password});  // connections in use end when they come back
  const auto tried = db.try_acquire_for(5s);
  std::cout << password << (tried ? " works" : " does not work") << '\n';
  return static_cast<bool>(tried);
}
// [/snippet]

int main() try {
  connection_pool db(connector{"old"}, {.max_size = 2, .name = "db"});
  {
    const auto in_use = db.acquire();
    password_of_server = "new";
    change_password(db, "new");
  }
  if (!change_password(db, "typo")) {
    change_password(db, "new");
  }
  std::cout << db.stats().destroyed_for(lido::destroy_reason::flushed) << " flushed\n";
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   new works
//   typo does not work
//   new works
//   2 flushed
