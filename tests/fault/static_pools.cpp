// Detached threads use pools in static storage while the program ends. A pool that is never
// destroyed, or an exit that destroys nothing, lets it end well. A checked pool reports what is
// wrong.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "lido/checked.hpp"

namespace {

using checked_pool = lido::object_pool<long, lido::checked_traits<long>>;

constexpr int runs = 20;

/// Destroyed after the pools, and lets the threads run for a while longer.
const struct slow_end {
  ~slow_end() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
} ends_slowly;

auto& endless = *new lido::object_pool<long>({.capacity = 100, .name = "endless"});
lido::object_pool<long> plain({.capacity = 100, .name = "plain"});
checked_pool checked({.capacity = 100, .name = "checked"});

struct outcome {
  int status;
  std::string said;
};

/// Runs a function in a child; returns its outcome, with its output to stderr.
template <class Function>
outcome run_in_child(const Function& function) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    std::_Exit(EXIT_FAILURE);
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    function();
    std::_Exit(EXIT_FAILURE);
  }
  ::close(ends[1]);
  outcome found{};
  std::array<char, 4096> part;
  for (ssize_t size = 0; (size = ::read(ends[0], part.data(), part.size())) > 0;) {
    found.said.append(part.data(), static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  ::waitpid(child, &found.status, 0);
  return found;
}

template <class Pool>
void start_workers(Pool& pool, std::chrono::microseconds pause = {}) {
  for (int i = 0; i < 8; ++i) {
    std::thread([&pool, pause] {
      for (;;) {
        (void)pool.try_acquire(1);
        std::this_thread::sleep_for(pause);
      }
    }).detach();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

template <class Function, class Judge>
int count(const Function& function, const Judge& judge) {
  int found = 0;
  for (int run = 0; run < runs; ++run) {
    found += judge(run_in_child(function)) ? 1 : 0;
  }
  return found;
}

bool ends_well(const outcome& found) {
  return WIFEXITED(found.status) && WEXITSTATUS(found.status) == 0;
}

bool is_explained(const outcome& found) {
  return WIFSIGNALED(found.status) && WTERMSIG(found.status) == SIGABRT &&
         found.said.find("lido: pool 'checked'") != std::string::npos;
}

}  // namespace

int main() {
  const int well = count(
      [] {
        start_workers(endless);
        std::exit(0);  // NOLINT(concurrency-mt-unsafe): this is what is tested
      },
      ends_well);
  const int quick = count(
      [] {
        start_workers(plain);
        std::quick_exit(0);
      },
      ends_well);
  const int explained = count(
      [] {
        start_workers(checked);
        std::exit(0);  // NOLINT(concurrency-mt-unsafe): as above
      },
      is_explained);
  const int later = count(
      [] {  // normally no object is in use at the end
        start_workers(checked, std::chrono::milliseconds(2));
        std::exit(0);  // NOLINT(concurrency-mt-unsafe): as above
      },
      is_explained);
  std::printf("report: static_pools runs=%d endless=%d quick_exit=%d explained=%d later=%d\n", runs,
              well, quick, explained, later);
  const bool right = well == runs && quick == runs && explained > runs / 2 && later > runs / 2;
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
