/// Costs of statistics: `Traits::counts` in a hit, and `time_uses` in a use of an idle resource.
#include <benchmark/benchmark.h>

#include "contender.hpp"
#include "lido/object_pool.hpp"
#include "lido/resource_pool.hpp"

namespace lido_bench {
namespace {

struct counting : lido::pool_traits<block<64>> {
  static constexpr bool counts = true;
};

template <class Traits>
void hits(benchmark::State& state) {
  lido::object_pool<block<64>, Traits> pool{1024};
  pool.release(pool.try_acquire_ptr(lido::default_init));
  for ([[maybe_unused]] auto _ : state) {
    auto* const object{pool.try_acquire_ptr(lido::default_init)};
    benchmark::DoNotOptimize(object);
    pool.release(object);
  }
  state.counters["pair"] =
      benchmark::Counter(static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void use(benchmark::State& state, bool timed) {
  lido::resource_pool<int> pool(
      [] { return 0; },
      {.max_size = 1, .time_uses = timed, .maintenance = lido::maintenance::by_tick});
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(*pool.acquire());
  }
  state.counters["pair"] =
      benchmark::Counter(static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void pair_without_counts(benchmark::State& state) {
  hits<lido::pool_traits<block<64>>>(state);
}
void pair_with_counts(benchmark::State& state) {
  hits<counting>(state);
}
BENCHMARK(pair_without_counts);
BENCHMARK(pair_with_counts);
BENCHMARK_CAPTURE(use, without_times, false);
BENCHMARK_CAPTURE(use, with_times, true);

}  // namespace
}  // namespace lido_bench

BENCHMARK_MAIN();
