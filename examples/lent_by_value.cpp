// A client whose users own a connection for a while, and return it by value.
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <string>
#include <utility>

class connection {
 public:
  explicit connection(int number) : name_(std::to_string(number)) {}
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

// [snippet]
class client {
 public:
  connection fetch() { return db_.acquire().detach(); }  // max_size counts it no more
  /// Returns false if the pool is full; then `back` is destroyed with its owner.
  bool release(connection&& back) { return db_.adopt(std::move(back)); }

 private:
  int made_ = 0;
  lido::resource_pool<connection> db_{[this] { return connection(++made_); },
                                      {.max_size = 1, .name = "db"}};
};
// [/snippet]

int main() try {
  client orders;
  connection mine = orders.fetch();
  connection other = orders.fetch();
  std::cout << "I have " << mine.name() << " and " << other.name() << '\n';
  std::cout << "taken back: " << std::boolalpha << orders.release(std::move(other)) << ", "
            << orders.release(std::move(mine)) << '\n';
  std::cout << "the next is " << orders.fetch().name() << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   I have 1 and 2
//   taken back: true, false
//   the next is 2
