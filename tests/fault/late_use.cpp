// Uses pools in every order in which objects of static and of thread storage may be destroyed. That
// is after main, while other static objects are destroyed, and in a handler of exit. It is also in
// thread-local objects that are older or younger than the thread's first use of a pool.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "lido/object_pool.hpp"
#include "support/drain.hpp"

namespace {

using pool_type = lido::object_pool<int>;
constexpr std::size_t capacity = 100;

int steps = 0;

void step(bool held, const char* what) {
  ++steps;
  if (!held) {
    (void)std::fprintf(stderr, "BROKEN: %s\n", what);
    std::_Exit(EXIT_FAILURE);
  }
}

/// Acquires and releases all of its pool's slots once more in its destructor.
struct user {
  pool_type* pool;
  const char* what;
  ~user() {
    lido::test::fill_own_cache(*pool, capacity / 2);
    step(lido::test::count_acquirable(*pool) == capacity, what);
  }
};

/// Makes a pool in its destructor.
struct late_maker {
  ~late_maker() {
    pool_type pool(capacity);
    step(lido::test::count_acquirable(pool) == capacity, "a pool made by a static destructor");
    std::thread([&] {
      step(lido::test::count_acquirable(pool) == capacity, "a thread after main");
    }).join();
    step(steps == 8, "something was left out");
    std::printf("report: late_use steps=%d\n", steps);
    (void)std::fflush(stdout);
  }
};

// Destroyed from the last to the first.
const late_maker ends_last;
pool_type early_pool(capacity);
const user ends_before_its_pool{&early_pool, "a static object younger than its pool"};

pool_type& immortal_pool() {
  static auto* const pool = new pool_type(capacity);  // reachable for ever, so not a leak
  return *pool;
}
const user of_an_immortal_pool{&immortal_pool(), "a static object with a pool that never ends"};

void use_in_threads() {
  std::thread([] {
    thread_local const user older{&early_pool, "a thread-local object older than the first use"};
    (void)&older;
    lido::test::fill_own_cache(early_pool, 50);
  }).join();
  std::thread([] {
    lido::test::fill_own_cache(early_pool, 50);
    thread_local const user younger{&early_pool,
                                    "a thread-local object younger than the first use"};
    (void)&younger;
  }).join();
  step(early_pool.stats().open_caches <= 1, "an ended thread has left its cache open");
}

}  // namespace

int main() {
  (void)std::atexit(
      [] { step(lido::test::count_acquirable(early_pool) == capacity, "a handler of exit"); });
  use_in_threads();
  return EXIT_SUCCESS;
}
