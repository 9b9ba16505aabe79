// The server becomes read-only and another takes over: a new connection tries the write again.
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <stdexcept>
#include <string>

struct read_only : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class connection {
 public:
  /// Connects to the host that accepts writes at this moment.
  explicit connection(const std::string& primary) : host_(primary), primary_(&primary) {}
  void write(const std::string& row) const {
    if (host_ != *primary_) {
      throw read_only(host_);
    }
    std::cout << host_ << " wrote " << row << '\n';
  }

 private:
  std::string host_;
  const std::string* primary_;
};
using connection_pool = lido::resource_pool<connection>;

// [snippet]
void write(connection_pool& db, const std::string& row) {
  const auto once = [&row](connection& one) { one.write(row); };
  const auto seen = db.generation();
  try {
    db.with(once);
  } catch (const read_only& host) {  // its connection has been discarded
    std::cout << host.what() << " takes no writes\n";
    db.flush(seen);  // the idle connections lead to the same host, unless another flush came
    db.with(once);
  }
}
// [/snippet]

int main() try {
  std::string primary = "first";
  connection_pool db([&primary] { return connection(primary); }, {.max_size = 4, .name = "db"});
  write(db, "one");
  primary = "second";
  write(db, "two");
  write(db, "three");
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   first wrote one
//   first takes no writes
//   second wrote two
//   second wrote three
