/// @file
/// Threads for tests: a crew that runs to its end, and a crew that is parked before its end.
#pragma once

#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

namespace lido::test {

/// Runs `body(i)` in `count` threads, where i counts from 0, and waits until all have ended.
template <class Body>
void run_crew(unsigned count, const Body& body) {
  std::vector<std::jthread> crew;
  crew.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    crew.emplace_back([&body, i] { body(i); });
  }
}

/// Runs `body` in a new thread and waits until it has ended.
template <class Body>
void run_in_new_thread(const Body& body) {
  run_crew(1, [&body](unsigned /*index*/) { body(); });
}

/// Threads that have each run `body(i)` and then stay alive and idle during the crew's lifetime.
class parked_crew {
 public:
  template <class Body>
  parked_crew(unsigned count, const Body& body) : ready_(count) {
    threads_.reserve(count);
    for (unsigned i = 0; i < count; ++i) {
      threads_.emplace_back([this, body, i] {
        body(i);
        ready_.count_down();
        leave_.wait();
      });
    }
    ready_.wait();
  }

  parked_crew(const parked_crew&) = delete;
  parked_crew& operator=(const parked_crew&) = delete;
  ~parked_crew() { leave_.count_down(); }

 private:
  std::latch ready_;
  std::latch leave_{1};
  std::vector<std::jthread> threads_;  // last: joined before the latches are destroyed
};

/// An executor that walks a map in two threads, each of which does half the work.
struct two_threads {
  void operator()(std::uint32_t count, const auto& body) const {
    std::jthread other([&] { body(count / 2, count); });
    body(0, count / 2);
  }
};

}  // namespace lido::test
