/// What `Traits::counts` adds to a hit, alone and while a trace records it.
#include <benchmark/benchmark.h>

#include <optional>
#include <ostream>

#include "contender.hpp"
#include "lido/object_pool.hpp"
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
  for (auto _ : state) {
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

void pair_without_counts(benchmark::State& state) {
  hits<lido::pool_traits<block<64>>>(state, false);
}
void pair_with_counts(benchmark::State& state) {
  hits<counting>(state, false);
}
void pair_with_counts_and_trace(benchmark::State& state) {
  hits<counting>(state, true);
}
BENCHMARK(pair_without_counts);
BENCHMARK(pair_with_counts);
BENCHMARK(pair_with_counts_and_trace);

}  // namespace
}  // namespace lido_bench

BENCHMARK_MAIN();
