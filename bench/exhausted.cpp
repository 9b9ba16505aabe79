/// What it costs that there is no slot: `try_acquire`, and `acquire` that throws, of a pool whose
/// slots are all out.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <vector>

#include "contender.hpp"
#include "lido/object_pool.hpp"

namespace lido_bench {
namespace {

using object = block<64>;

struct fail_by_try {
  using pool = lido::object_pool<object>;
  static bool is_refused(pool& slots) { return !slots.try_acquire(lido::default_init); }
};

struct fail_by_throw {
  using pool = lido::object_pool<object>;
  static bool is_refused(pool& slots) {
    try {
      return !slots.acquire(lido::default_init);
    } catch (const lido::pool_exhausted&) {
      return true;
    }
  }
};

/// All slots are in use for as long as this lives.
template <typename Pool>
struct empty_pool {
  empty_pool() {
    while (object* const taken{slots.try_acquire_ptr(lido::default_init)}) {
      held.push_back(taken);
    }
  }
  ~empty_pool() { slots.release_n(held); }
  empty_pool(const empty_pool&) = delete;
  empty_pool& operator=(const empty_pool&) = delete;

  Pool slots{256};
  std::vector<object*> held;
};

template <typename Way>
void refused(benchmark::State& state) {
  static empty_pool<typename Way::pool> empty;  // of all threads
  for (auto _ : state) {
    if (!Way::is_refused(empty.slots)) {
      state.SkipWithError("there was a slot");
      return;
    }
  }
}

BENCHMARK_TEMPLATE(refused, fail_by_try)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK_TEMPLATE(refused, fail_by_throw)->Threads(1)->Threads(2)->UseRealTime();

}  // namespace
}  // namespace lido_bench

BENCHMARK_MAIN();
