// The threads that pools share: how many there are, and that no pool blocks another.
#include <gtest/gtest.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
#include "lido/resource_pool.hpp"
#include "support/fake_server.hpp"
#include "support/sanitizers.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using clock = std::chrono::steady_clock;

using small_pool = resource_pool<int>;

int threads_now() {
  return static_cast<int>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

/// Lets calls that wait for it continue once it is open, or the test ends.
class barrier_of_calls {
 public:
  ~barrier_of_calls() { open(); }
  void open() {
    {
      const std::lock_guard guard(mutex_);
      is_open_ = true;
    }
    change_.notify_all();
  }
  void wait() {
    std::unique_lock guard(mutex_);
    ++waiting_;
    change_.notify_all();
    change_.wait(guard, [this] { return is_open_; });
  }
  [[nodiscard]] bool wait_for(int waiting) {
    std::unique_lock guard(mutex_);
    return change_.wait_for(guard, 10s, [&] { return waiting_ >= waiting; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable change_;
  int waiting_ = 0;
  bool is_open_ = false;
};

std::unique_ptr<small_pool> one_of_four() {
  return std::make_unique<small_pool>([] { return 1; }, resource_pool_options{.max_size = 4});
}

TEST(SharedThreads, NoneIsStartedForAPoolThatIsNotUsed) {
  const int before = threads_now();
  const auto pool = one_of_four();
  const small_pool own([] { return 1; }, {.max_size = 4, .maintenance = maintenance::own_threads});
  EXPECT_EQ(threads_now(), before);
  EXPECT_FALSE(pool->try_acquire_for(0ms));
}

TEST(SharedThreads, AHundredPoolsHaveThree) {
  const int before = threads_now();
  std::vector<std::unique_ptr<small_pool>> pools;
  for (int i = 0; i < 100; ++i) {
    pools.push_back(one_of_four());
    EXPECT_EQ(*pools.back()->acquire(), 1);
  }
  // A worker that is about to fall idle may have been too late for the next pool.
  EXPECT_TRUE(eventually([&] { return threads_now() - before <= 3; }));
  pools.clear();
  EXPECT_TRUE(eventually([&] { return threads_now() == before; }));
}

/// Returns how often the timekeeping thread has slept.
long sleeps_of_timekeeper() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    const std::string text(std::istreambuf_iterator<char>(status), {});
    const std::string field = "\nvoluntary_ctxt_switches:";
    const std::size_t at = text.find(field);
    if (text.find("lido-time") != std::string::npos && at != std::string::npos) {
      return std::stol(text.substr(at + field.size()));
    }
  }
  return 0;
}

// Each is due eight times a second.
TEST(SharedThreads, WakeOnceForAllIdlePools) {
  std::vector<std::unique_ptr<small_pool>> pools;
  for (int i = 0; i < 100; ++i) {
    pools.push_back(one_of_four());
    (void)pools.back()->acquire();
    std::this_thread::sleep_for(1ms);  // they are not made at the same moment
  }
  const long before = sleeps_of_timekeeper();
  EXPECT_GT(before, 0);
  std::this_thread::sleep_for(1s);
  const long sleeps = sleeps_of_timekeeper() - before;
  EXPECT_GT(sleeps, 0);
  EXPECT_LT(sleeps, 50);  // some for the pool's mutex, or that of the threads
}

#if defined(__GLIBC__)
#define LIDO_TEST_GLIBC_TELLS __GLIBC_PREREQ(2, 33)
#endif
#if !LIDO_TEST_TSAN && !LIDO_TEST_ASAN && LIDO_TEST_GLIBC_TELLS  // whose own allocators do not tell
/// Returns resident bytes of anonymous mappings, without the heap.
std::size_t nameless_bytes() {
  std::ifstream maps("/proc/self/smaps");
  std::size_t sum = 0;
  bool is_nameless = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first.find('-') != std::string::npos) {  // "from-to rights offset device inode name"
      std::string skipped;
      std::string name;
      words >> skipped >> skipped >> skipped >> skipped >> name;
      is_nameless = name.empty();
    } else if (is_nameless && first == "Anonymous:") {
      std::size_t kib = 0;
      words >> kib;
      sum += kib * 1024;
    }
  }
  return sum;
}

TEST(SmallPools, TakeAtMostEightKiBEach) {
  constexpr std::size_t count = 100;
  std::vector<std::unique_ptr<small_pool>> pools;
  pools.reserve(count + 1);
  pools.push_back(one_of_four());  // with the threads, and what the library has once
  (void)pools.back()->acquire();
  const std::size_t heap = ::mallinfo2().uordblks;
  const std::size_t mapped = nameless_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    pools.push_back(one_of_four());
    (void)pools.back()->acquire();
  }
  const std::size_t of_heap = (::mallinfo2().uordblks - heap) / count;
  const std::size_t of_pages = (nameless_bytes() - mapped) / count;
  std::cout << "report: an idle pool of 4 takes " << of_heap << " bytes of the heap and "
            << of_pages << " of pages\n";
  EXPECT_GT(of_heap, 1000U);
  EXPECT_LE(of_heap + of_pages, 8192U);
}
#endif

TEST(SharedThreads, WorkersOfABurstEndSoonButTwo) {
  const int before = threads_now();
  barrier_of_calls gate;
  std::vector<std::unique_ptr<small_pool>> pools;
  for (int i = 0; i < 20; ++i) {
    pools.push_back(std::make_unique<small_pool>(
        [&gate] {
          gate.wait();
          return 1;
        },
        resource_pool_options{.max_size = 4, .min_idle = 1}));
  }
  EXPECT_TRUE(gate.wait_for(20));  // each in a thread of its own
  EXPECT_GE(threads_now() - before, 20);
  gate.open();
  EXPECT_TRUE(eventually([&] { return threads_now() - before <= 3; }));
}

TEST(SharedThreads, AHangingCreateHoldsUpNoOtherPool) {
  barrier_of_calls gate;
  const auto hang = [&gate] {
    gate.wait();
    return 1;
  };
  std::vector<std::unique_ptr<small_pool>> hanging;
  for (int i = 0; i < 8; ++i) {
    hanging.push_back(std::make_unique<small_pool>(
        hang, resource_pool_options{.max_size = 4, .min_idle = 4, .max_creating = 4}));
  }
  EXPECT_TRUE(gate.wait_for(32));
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(one_of_four()->try_acquire_for(5s));
  }
  std::atomic<bool> is_called{false};
  const auto begin = clock::now();
  hanging.front()->async_acquire([&is_called](const auto& /*late*/) { is_called = true; }, 50ms);
  EXPECT_TRUE(eventually([&] { return is_called.load(); }));  // time is kept
  EXPECT_LT(clock::now() - begin, 5s);
  gate.open();
}

// More callbacks of one pool hang than a pool may run at once; another pool is not affected.
TEST(SharedThreads, HangingCallbacksHoldUpNoOtherPool) {
  barrier_of_calls gate;
  resource_pool<int> pool([] { return 1; }, {.max_size = 1});
  const auto held = pool.acquire();
  for (int i = 0; i < 12; ++i) {
    pool.async_acquire([&gate](const auto& /*late*/) { gate.wait(); }, 1ms);
  }
  EXPECT_TRUE(gate.wait_for(12));
  EXPECT_TRUE(one_of_four()->try_acquire_for(5s));
  gate.open();
}

TEST(SharedThreads, APoolWithItsOwnSharesNone) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  const auto note = [&] {
    const std::lock_guard guard(mutex);
    seen.insert(std::this_thread::get_id());
    return 1;
  };
  const resource_pool_options own{.max_size = 1, .maintenance = maintenance::own_threads};
  small_pool one(note, own);
  small_pool two(note, own);
  small_pool third(note, {.max_size = 1});
  EXPECT_TRUE(one.acquire() && two.acquire() && third.acquire());
  EXPECT_EQ(seen.size(), 3U);
}

// A task that hangs outlives its pool. Its resource is destroyed, its thread ends, and other pools
// keep working.
TEST(SharedThreads, APoolMayEndBesideATaskThatHangs) {
  const int before = threads_now();
  static std::atomic<int> live{0};
  barrier_of_calls gate;
  struct factory {
    barrier_of_calls* gate;
    [[nodiscard]] int create() const {
      gate->wait();
      ++live;
      return 1;
    }
    static void destroy(int& /*ended*/, destroy_reason /*why*/) noexcept { --live; }
  };
  for (const bool is_last : {false, true}) {
    const auto other = is_last ? nullptr : one_of_four();
    barrier_of_calls until;
    auto pool = std::make_unique<resource_pool<int>>(
        factory{&until}, resource_pool_options{.max_size = 2, .min_idle = 2, .close_timeout = 1ms});
    EXPECT_TRUE(until.wait_for(1));
    pool.reset();
    EXPECT_TRUE(other == nullptr || other->try_acquire_for(5s));
    EXPECT_TRUE(one_of_four()->try_acquire_for(5s));
    until.open();
    EXPECT_TRUE(eventually([&] { return threads_now() - before <= (is_last ? 0 : 3); }));
  }
  EXPECT_EQ(live, 0);
}

TEST(SharedThreads, PoolsComeAndGoInSeveralThreads) {
  const int before = threads_now();
  std::array<std::thread, 4> users;
  std::atomic<int> served{0};
  for (std::thread& user : users) {
    user = std::thread([&served] {
      for (int round = 0; round < 200; ++round) {
        const auto pool = one_of_four();
        served += pool->try_acquire_for(10s) ? 1 : 0;
      }
    });
  }
  for (std::thread& user : users) {
    user.join();
  }
  EXPECT_EQ(served, 800);
  EXPECT_TRUE(eventually([&] { return threads_now() == before; }));
}

TEST(SharedThreads, ACallbackMayEndTheLastPool) {
  const int before = threads_now();
  auto pool = std::make_shared<small_pool>(
      [] { return 1; }, resource_pool_options{.max_size = 1, .close_timeout = 50ms});
  std::optional<resource_lease<int>> held = pool->acquire();
  std::atomic<bool> is_called{false};
  pool->async_acquire(
      [&is_called, mine = pool](const auto& /*late*/) mutable {
        mine->close(0ms);
        mine.reset();
        is_called = true;
      },
      1ms);
  pool.reset();
  EXPECT_TRUE(eventually([&] { return is_called.load(); }));
  held.reset();
  EXPECT_TRUE(eventually([&] { return threads_now() == before; }));
}

// Forks while a thread of the pools is in a task, and others sleep.
TEST(SharedThreads, AForkedChildMakesItsOwn) {
#if LIDO_TEST_TSAN
  GTEST_SKIP() << "ThreadSanitizer starts no threads in the child of a process that has some";
#endif
  barrier_of_calls gate;
  const auto idle = one_of_four();
  (void)idle->acquire();
  const small_pool hanging(
      [&gate] {
        gate.wait();
        return 1;
      },
      {.max_size = 1, .min_idle = 1});
  EXPECT_TRUE(gate.wait_for(1));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    bool is_good = !idle->try_acquire_for(1s);
    for (int round = 0; round < 3; ++round) {
      const auto pool = one_of_four();
      is_good = is_good && pool->try_acquire_for(10s);
    }
    ::_exit(is_good && threads_now() == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(one_of_four()->try_acquire_for(5s));
  gate.open();
}

}  // namespace
}  // namespace lido
