// The threads of a pool: their names in debuggers, and that they take no signal of the program.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "lido/resource_pool.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;

std::string name_of_this_thread() {
  std::array<char, 16> name{};
  (void)pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

bool blocks(int number) {
  sigset_t blocked;
  (void)pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return sigismember(&blocked, number) == 1;
}

std::set<std::string> names_of_all_threads() {
  std::set<std::string> names;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    if (std::getline(std::ifstream(thread.path() / "comm"), name)) {
      names.insert(name);
    }
  }
  return names;
}

// Blocked for this thread after the pool was made: as a program does whose pool is a static object.
TEST(PoolThreads, LeaveSignalsToTheProgram) {
  std::promise<std::string> worker;
  resource_pool<int> pool(
      [&, once = false]() mutable {
        if (!std::exchange(once, true)) {
          EXPECT_TRUE(blocks(SIGTERM) && blocks(SIGINT) && blocks(SIGPIPE) && blocks(SIGCHLD));
          EXPECT_FALSE(blocks(SIGSEGV) || blocks(SIGABRT));  // a crash is reported by its handler
          worker.set_value(name_of_this_thread());
        }
        return 1;
      },
      {.max_size = 1, .min_idle = 1});
  EXPECT_EQ(worker.get_future().get(), "lido-work");
  EXPECT_TRUE(test::eventually([] {  // each takes its name when it begins
    const std::set<std::string> names = names_of_all_threads();
    return names.contains("lido-time") && names.contains("lido-work");
  }));

  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, SIGUSR1);
  sigset_t before;
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &ours, &before), 0);
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);  // ends the program if any thread takes it
    const timespec second{.tv_sec = 1, .tv_nsec = 0};
    EXPECT_EQ(sigtimedwait(&ours, nullptr, &second), SIGUSR1);
  }
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
}

TEST(PoolThreads, ThatCloseAPoolLeaveSignalsToTheProgram) {
  resource_pool<int> pool([] { return 1; }, {.max_size = 1});
  std::promise<std::string> closing;
  pool.async_close(
      [&closing](const close_report& /*report*/) {
        EXPECT_TRUE(blocks(SIGTERM));
        closing.set_value(name_of_this_thread());
      },
      1s);
  EXPECT_EQ(closing.get_future().get(), "lido-close");
}

TEST(PoolThreads, AreStartedWithTheMaskOfTheirStarterUntouched) {
  ASSERT_FALSE(blocks(SIGUSR2));
  const resource_pool<int> pool([] { return 1; }, {.max_size = 1, .min_idle = 1});
  EXPECT_FALSE(blocks(SIGUSR2));
}

}  // namespace
}  // namespace lido
