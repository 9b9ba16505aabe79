// The password of a server changes while the program runs.
#include <chrono>
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <string>

using namespace std::chrono_literals;

struct server {
  std::string password = "old";
};
struct connection {};
using connection_pool = lido::resource_pool<connection>;

// [snippet]
struct connector {
  const server* to;
  std::string password;

  [[nodiscard]] connection create() const {
    if (password != to->password) {
      throw lido::permanent_failure("wrong password");  // ends all waits at once
    }
    return {};
  }
};

bool change_password(connection_pool& db, const server& to, const std::string& password) {
  db.replace_factory(connector{&to, password});  // connections in use end when they come back
  const auto tried = db.try_acquire_for(5s);
  std::cout << password << ": " << (tried ? "works" : to_string(tried.failure())) << '\n';
  return static_cast<bool>(tried);
}
// [/snippet]

int main() try {
  server to;
  connection_pool db(connector{&to, "old"}, {.max_size = 2, .name = "db"});
  {
    const auto in_use = db.acquire();
    to.password = "new";
    change_password(db, to, "new");
  }
  if (!change_password(db, to, "typo")) {
    change_password(db, to, "new");
  }
  std::cout << db.stats().destroyed_for(lido::destroy_reason::flushed) << " flushed\n";
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   new: works
//   typo: create failed
//   new: works
//   2 flushed
