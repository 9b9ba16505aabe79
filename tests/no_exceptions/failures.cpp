// Where an exception would be thrown, the program's handler is called, the message printed, and the
// program aborted.
#include <lido/block_resource.hpp>
#include <lido/concurrent_slot_map.hpp>
#include <lido/object_pool.hpp>
#include <lido/resource_pool.hpp>
#include <lido/slot_map.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "check.hpp"

namespace {

using namespace std::chrono_literals;

void handler(const std::exception& failure) noexcept {
  (void)std::fprintf(stderr, "handled: %s\n", failure.what());
}

// Checks that `fail` in a child process ends it by abort, and prints `message` as its handler and
// as Lido do.
template <class F>
void check_abort(const F& fail, const std::string& message) {
  std::array<int, 2> ends{};
  CHECK(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::dup2(ends[1], STDERR_FILENO);
    (void)lido::set_failure_handler(&handler);
    fail();
    std::_Exit(0);
  }
  (void)::close(ends[1]);
  std::string printed;
  std::array<char, 512> part{};
  for (ssize_t got = 0; (got = ::read(ends[0], part.data(), part.size())) > 0;) {
    printed.append(part.data(), static_cast<std::size_t>(got));
  }
  (void)::close(ends[0]);
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  (void)std::printf("%s", printed.c_str());
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  CHECK(printed.find("handled: " + message) != std::string::npos);
  CHECK(printed.find("\n" + message) != std::string::npos);
}

void too_large_pools_name_themselves() {
  using large = std::array<char, std::size_t{1} << 24U>;
  constexpr std::size_t many = std::size_t{1} << 24U;
  const std::string expected = "lido: pool 'huge': no memory for 281474976710656 bytes";
  check_abort([] { const lido::object_pool<large> pool({.capacity = many, .name = "huge"}); },
              expected);
  check_abort(
      [] {
        const lido::object_pool<large> pool(
            {.name = "huge", .max_capacity = many, .when_full = lido::when_full::grow});
      },
      expected);
  check_abort(
      [] { const lido::concurrent_slot_map<large> map({.max_size = many, .name = "huge"}); },
      expected);
  check_abort(
      [] {
        const lido::block_resource blocks(
            {.block_bytes = sizeof(large), .blocks = many, .name = "huge"});
      },
      expected);
}

void full_pools_end_the_program() {
  check_abort(
      [] {
        lido::object_pool<int> pool({.capacity = 1, .name = "few"});
        const auto one = pool.acquire();
        (void)pool.acquire();
      },
      "lido: pool 'few' is exhausted: 1 of 1 slots are in use");
  check_abort(
      [] {
        lido::slot_map<int> map({.max_size = 1, .name = "few"});
        (void)map.insert(1);
        (void)map.insert(2);
      },
      "lido: pool 'few' is exhausted");
  check_abort(
      [] {
        lido::concurrent_slot_map<int> map({.max_size = 1, .name = "few"});
        (void)map.emplace(1);
        (void)map.emplace(2);
      },
      "lido: pool 'few' is exhausted");
  check_abort(
      [] {
        lido::block_resource blocks({.block_bytes = 64, .blocks = 1, .name = "few"});
        (void)blocks.allocate(64);
        (void)blocks.allocate(64);
      },
      "lido: block_resource 'few' has no block for 64 bytes aligned to 16: 1 of 1 blocks are in "
      "use");
  check_abort(
      [] {
        lido::resource_pool<int> pool([] { return 1; }, {.max_size = 1, .name = "few"});
        const auto one = pool.acquire();
        std::thread([&pool] { (void)pool.acquire_for(1ms); }).join();
      },
      "lido: pool 'few': timed out");
}

void wrong_options_end_the_program() {
  check_abort([] { const lido::object_pool<int> pool({.capacity = 0, .name = "none"}); },
              "lido: pool 'none': capacity 0");
  check_abort([] { const lido::slot_map<int> map({.max_size = 0, .name = "none"}); },
              "lido: pool 'none': max_size is 0");
  check_abort([] { const lido::block_resource blocks({.name = "none"}); }, "lido: pool 'none'");
  check_abort(
      [] {
        const lido::resource_pool<int> pool([] { return 1; }, {.max_size = 70'000, .name = "none"});
      },
      "lido: pool 'none'");
}

}  // namespace

int main() {
  CHECK(lido::set_failure_handler(&handler) == nullptr);
  CHECK(lido::set_failure_handler(nullptr) == &handler);
  too_large_pools_name_themselves();
  full_pools_end_the_program();
  wrong_options_end_the_program();
}
