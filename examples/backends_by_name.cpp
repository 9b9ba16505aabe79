// Connections to several backends under one limit: one backend's unused share is free for others.
#include <exception>
#include <iostream>
#include <lido/keyed_resource_pool.hpp>
#include <string>
#include <string_view>

struct connection {
  std::string backend;
};

// [snippet]
struct connector {
  static connection create(const std::string& backend) { return {backend}; }  // throws: tried again
  static void destroy(connection& ended, lido::destroy_reason why) noexcept {
    std::cout << ended.backend << " ends: " << to_string(why) << '\n';
  }
};

void ask(lido::keyed_resource_pool<std::string, connection>& backends, std::string_view name) {
  const auto lease = backends.at(name).acquire();  // no string is made to look it up
  std::cout << lease->backend << " answers\n";
}
// [/snippet]

int main() try {
  lido::keyed_resource_pool<std::string, connection> backends(
      connector{},
      {.max_total = 2,
       .each_key = {.max_size = 2, .name = "backends", .maintenance = lido::maintenance::by_tick}});
  ask(backends, "red");
  ask(backends, "red");  // the same connection
  {
    const auto green = backends.at("green").acquire();
    const auto blue = backends.at("blue").acquire();  // one too many: red's is destroyed
    std::cout << backends.stats().live << " connections\n";
  }
  // The pool destroys its newest key first, as objects are destroyed.
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   red answers
//   red answers
//   red ends: surplus
//   2 connections
//   blue ends: closed
//   green ends: closed
