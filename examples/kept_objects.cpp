// Objects that are expensive to make: made once, kept when released, destroyed when broken.
#include <exception>
#include <iostream>
#include <lido/object_pool.hpp>
#include <string>
#include <vector>

class session {
 public:
  explicit session(std::size_t buffer) : buffer_(buffer) {}  // the expensive part
  void open(const std::string& peer) { peer_ = peer; }
  void break_down() { broken_ = true; }
  [[nodiscard]] bool is_broken() const { return broken_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }

 private:
  std::vector<char> buffer_;
  std::string peer_;
  bool broken_ = false;
};
// [snippet]
struct session_hooks {  // each is optional
  std::size_t buffer_size = 4096;

  session create() { return session(buffer_size); }
  static void activate(session& object, const std::string& peer) { object.open(peer); }
  // false: the next acquire makes another
  static bool deactivate(session& object) { return !object.is_broken(); }
  static void destroy(session& /*object*/) noexcept { std::cout << "a session ends\n"; }
};

struct session_traits : lido::pool_traits<session> {
  using hooks = session_hooks;
};
using session_pool = lido::object_pool<session, session_traits>;
// [/snippet]

int main() try {
  session_pool sessions({.capacity = 4, .creation = lido::creation::eager}, {.buffer_size = 65536});
  {
    auto one = sessions.acquire("alpha");  // arguments go to activate
    auto two = sessions.acquire("beta");
    two->break_down();
    std::cout << one->peer() << " and " << two->peer() << '\n';
  }
  const lido::slot_pool_stats stats = sessions.stats();
  std::cout << stats.idle << " available, " << stats.live << " of them created\n";
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   alpha and beta
//   a session ends
//   4 available, 3 of them created
//   a session ends
//   a session ends
//   a session ends
