/// What statistics cost: `Traits::counts` in a hit, alone and while a trace records it, and
/// `time_uses` in a use of an idle resource.
#include <benchmark/benchmark.h>

#include <optional>
#include <ostream>

#include "contender.hpp"
#include "lido/object_pool.hpp"
#include "lido/resource_pool.hpp"
#include "lido/trace.hpp"

namespace lido_bench {
namespace {

struct counting : lido::pool_traits<block<64>> {
  static constexpr bool counts = true;
};

/// So many hits as a ring has room for, each with its release; what was recorded is then dropped.
template <class Traits>
void hits(benchmark::State& state, bool traced) {
  constexpr auto at_once{lido::trace::events_per_thread - 1};
  lido::object_pool<block<64>, Traits> pool{1024};
  pool.release(pool.try_acquire_ptr(lido::default_init));
  std::ostream nowhere{nullptr};
  std::optional<lido::trace> recording;
  if (traced) {
    recording.emplace(nowhere);
  }
  for ([[maybe_unused]] auto _ : state) {
    for (std::size_t i{0}; i < at_once; ++i) {
      auto* const object{pool.try_acquire_ptr(lido::default_init)};
      benchmark::DoNotOptimize(object);
      pool.release(object);
    }
    if (traced) {
      state.PauseTiming();
      recording->drain();
      state.ResumeTiming();
    }
  }
  state.counters["pair"] =
      benchmark::Counter(static_cast<double>(state.iterations() * at_once),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  if (traced && recording->lost() != 0) {
    state.SkipWithError("events were lost");
  }
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
  hits<lido::pool_traits<block<64>>>(state, /*traced=*/false);
}
void pair_with_counts(benchmark::State& state) {
  hits<counting>(state, /*traced=*/false);
}
void pair_with_counts_and_trace(benchmark::State& state) {
  hits<counting>(state, /*traced=*/true);
}
BENCHMARK(pair_without_counts);
BENCHMARK(pair_with_counts);
BENCHMARK(pair_with_counts_and_trace);
BENCHMARK_CAPTURE(use, without_times, false);
BENCHMARK_CAPTURE(use, with_times, true);

}  // namespace
}  // namespace lido_bench

BENCHMARK_MAIN();
