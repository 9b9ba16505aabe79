// A module that measures a pair.
#include "pair.hpp"

#include <algorithm>
#include <chrono>

#include "lido/object_pool.hpp"

extern "C" bool lido_test_caches_are_locked() {
  const lido::object_pool<int> pool(64);
  return pool.stats().caches == lido::cache_kind::locked;
}

extern "C" double lido_test_pair() {
  using nanoseconds = std::chrono::duration<double, std::nano>;
  constexpr int pairs = 200'000;
  lido::object_pool<int> pool(64);
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < pairs; ++i) {
      int* const object = pool.try_acquire_ptr(lido::default_init);
      asm volatile("" : : "r"(object) : "memory");
      pool.release(object);
    }
    best = (std::min)(best, nanoseconds(std::chrono::steady_clock::now() - start).count() / pairs);
  }
  return best;
}
