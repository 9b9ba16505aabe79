// Connections: made when needed, checked after idling, waited for, destroyed when broken.
#include <chrono>
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <string>

using namespace std::chrono_literals;

class connection {
 public:
  explicit connection(int number) : number_(number) {}
  [[nodiscard]] std::string ask(const std::string& question) const {
    return std::to_string(number_) + " answers " + question;
  }

 private:
  int number_;
};

// [snippet]
struct connector {
  int made = 0;

  connection create() { return connection(++made); }           // throws: tried again later
  static bool validate(connection& /*idle*/) { return true; }  // optional, as all that follows
  static void destroy(connection& /*ended*/, lido::destroy_reason why) noexcept {
    std::cout << "a connection ends: " << to_string(why) << '\n';
  }
};
// [/snippet]

int main() try {
  lido::resource_pool<connection> db(
      connector{}, {.max_size = 1, .name = "db", .maintenance = lido::maintenance::by_tick});
  {
    const auto lease = db.acquire();
    std::cout << lease->ask("one") << '\n';
    std::cout << (db.try_acquire() ? "another" : "no other") << '\n';
  }
  db.acquire_for(5ms).discard();  // it was broken
  std::cout << db.with([](connection& mine) { return mine.ask("two"); }) << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   1 answers one
//   no other
//   a connection ends: discarded
//   2 answers two
//   a connection ends: closed
