// Lets the first, second, third ... thread that a resource pool starts fail to start, once and then
// for ever, until a run has none left to fail. After each, a constructor has thrown
// std::system_error, or the pool works with the threads that it has. No thread and no resource is
// left.
#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
#include "lido/resource_pool.hpp"

namespace lido::test {
namespace {

using namespace std::chrono_literals;

/// Chooses which start of a thread fails; 0: none.
struct {
  std::string_view life;
  std::atomic<long> first{0};
  std::atomic<bool> sticky{false};
  std::atomic<long> asked{0};
  std::atomic<long> refused{0};
} plan;

[[nodiscard]] bool fails_now() {
  const long number = ++plan.asked;
  const bool fails =
      plan.first != 0 && (number == plan.first || (plan.sticky && number > plan.first));
  plan.refused += fails ? 1 : 0;
  return fails;
}

void require(bool held, std::string_view what) {
  if (!held) {
    fmt::print("BROKEN: {}: {}: thread {}{} was not started\n", plan.life, what, plan.first.load(),
               plan.sticky ? " and later" : "");
    (void)std::fflush(stdout);
    std::_Exit(EXIT_FAILURE);
  }
}

[[nodiscard]] long threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

/// Creates slowly, so that a pool starts helpers.
struct slow_factory {
  static inline std::atomic<int> live{0};

  template <class... Key>
  int create(const Key&... /*key*/) {
    std::this_thread::sleep_for(2ms);
    ++live;
    return 1;
  }
  static void destroy(int& /*resource*/, destroy_reason /*why*/) noexcept { --live; }
};

/// Acquires all resources at once, by callbacks, so that several are made at a time.
template <class Pool>
void use(Pool& pool) {
  constexpr int wanted = 4;
  std::atomic<int> served{0};
  std::vector<typename Pool::lease_type> leases(wanted);
  for (auto& lease : leases) {
    pool.async_acquire(
        [&](typename Pool::result_type got) {
          require(static_cast<bool>(got), "a pool with a thread left could not make a resource");
          lease = std::move(got).value();
          ++served;
        },
        60s);
  }
  while (served != wanted) {
    std::this_thread::sleep_for(1ms);
  }
}

void resource_life() {
  resource_pool<int> pool(slow_factory(), {.max_size = 4, .min_idle = 2, .max_creating = 4});
  use(pool);
}

void keyed_life() {
  keyed_resource_pool<int, int> pool(slow_factory(), {.max_total = 4, .each_key = {.max_size = 2}});
  const auto one = pool.at(1).acquire();
  const auto two = pool.at(2).acquire();
  require(one && two, "a keyed pool lends nothing");
}

/// A callback whose time is up, although a thread could not be started once. If none can be, a call
/// has to come that sees to it.
void late_callback_life() {
  resource_pool<int> pool(slow_factory(), {.max_size = 1});
  const auto held = pool.acquire();
  std::atomic<int> ended{0};
  pool.async_acquire(
      [&ended](resource_pool<int>::result_type got) {
        require(!got && got.failure() == acquire_failure::timed_out, "a callback has a wrong end");
        ++ended;
      },
      50ms);
  const auto began = std::chrono::steady_clock::now();
  while (ended == 0) {
    require(std::chrono::steady_clock::now() - began < 20s, "a callback waits for ever");
    std::this_thread::sleep_for(1ms);
    if (plan.sticky) {
      pool.tick();
    }
  }
}

/// A pool ends beside another, and leaves a task behind that no thread has begun.
void left_task_life() {
  resource_pool<int> other(slow_factory(), {.max_size = 4, .max_creating = 4});
  {
    const resource_pool<int> pool(slow_factory(),
                                  {.max_size = 1, .min_idle = 1, .close_timeout = 0ms});
  }
  use(other);
}

/// Lets no thread be started from now on, until it ends.
class no_more_threads {
 public:
  no_more_threads() {
    plan.first = plan.asked + 1;
    plan.sticky = true;
  }
  no_more_threads(const no_more_threads&) = delete;
  no_more_threads& operator=(const no_more_threads&) = delete;
  ~no_more_threads() { plan.first = 0; }
};

/// Three pools have one worker. A pool that posts again keeps its turn, and has one task done in
/// each turn.
void check_turns() {
  std::atomic<bool> goes_on{false};
  std::atomic<bool> is_busy{false};
  std::mutex mutex;
  std::string order;
  const auto note = [&](char name) {
    const std::lock_guard guard(mutex);
    order += name;
    return 1;
  };
  const auto ignored = [](resource_pool<int>::result_type /*got*/) {};
  const resource_pool_options two{.max_size = 2, .max_creating = 2};
  resource_pool<int> busy(
      [&] {
        is_busy = true;
        while (!goes_on) {
          std::this_thread::sleep_for(1ms);
        }
        return 1;
      },
      two);
  resource_pool<int> often([&] { return note('o'); }, two);
  resource_pool<int> other([&] { return note('x'); }, two);
  busy.async_acquire(ignored, 60s);
  while (!is_busy) {
    std::this_thread::sleep_for(1ms);
  }
  const no_more_threads from_here;
  often.async_acquire(ignored, 60s);
  other.async_acquire(ignored, 60s);
  often.async_acquire(ignored, 60s);
  goes_on = true;
  const auto done = [&] {
    const std::lock_guard guard(mutex);
    return order.size() == 3;
  };
  while (!done()) {
    std::this_thread::sleep_for(1ms);
  }
  require(order == "oxo", "pools have no turns");
}

/// Returns false if nothing was left to fail.
template <class Life>
bool run(const Life& life, long first, bool sticky) {
  const long before = threads();
  plan.refused = 0;
  plan.asked = 0;
  plan.sticky = sticky;
  plan.first = first;
  try {
    life();
  } catch (const std::system_error& error) {
    require(error.code() == std::errc::resource_unavailable_try_again && plan.refused > 0,
            "an unexpected system_error");
  }
  plan.first = 0;
  // The kernel may need a moment to forget a joined thread.
  for (int late = 0; threads() != before && late < 10'000; ++late) {
    std::this_thread::sleep_for(1ms);
  }
  require(threads() == before, "threads are left");
  require(slow_factory::live == 0, "resources are left");
  return plan.refused > 0;
}

template <class Life>
void sweep(std::string_view name, const Life& life) {
  plan.life = name;
  long points = 0;
  for (const bool sticky : {false, true}) {
    for (long first = 1; run(life, first, sticky); ++first) {
      ++points;
    }
  }
  require(points > 0, "no thread could fail");
  fmt::print("report: thread_sweep life={} points={}\n", name, points);
}

}  // namespace
}  // namespace lido::test

// Replaces the C library's: std::thread looks it up by name.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*routine)(void*), void* argument) {
  using function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "pthread_create"));
  return lido::test::fails_now() ? EAGAIN : real(thread, attributes, routine, argument);
}

int main() {
  lido::test::sweep("resource_pool", &lido::test::resource_life);
  lido::test::sweep("keyed_resource_pool", &lido::test::keyed_life);
  lido::test::sweep("late callback", &lido::test::late_callback_life);
  lido::test::sweep("left task", &lido::test::left_task_life);
  lido::test::check_turns();
  return EXIT_SUCCESS;
}
