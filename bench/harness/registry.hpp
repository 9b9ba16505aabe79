/// @file
/// Registers every workload of one contender with Google Benchmark.
#pragma once

#include <benchmark/benchmark.h>

#include <string>

#include "latency.hpp"
#include "locked.hpp"
#include "memory.hpp"
#include "run_workload.hpp"
#include "thread_counts.hpp"

namespace lido_bench {

/// Runs a team once for each run of Google Benchmark: all iterations are one batch, so that no code
/// of the framework is executed between two operations.
template <typename Workload, contender Pool>
void run_benchmark(benchmark::State& state, unsigned threads) {
  const auto iterations = static_cast<std::uint64_t>(state.max_iterations);
  while (state.KeepRunningBatch(state.max_iterations)) {
    const team_result result{run_workload<Workload, Pool>(threads, iterations)};
    if (result.starved) {
      state.SkipWithError("starved");
      return;
    }
    // Decides only how many iterations come next. The wall time of a short run on a busy machine
    // may be a hundred times too long, and then all repetitions would be short.
    state.SetIterationTime(result.cpu_seconds / std::min(threads, cores()));
    state.counters["ns_per_op"] = nanoseconds_per_operation<Workload>(result, threads, iterations);
    state.counters["cpu_ns_per_op"] =
        result.cpu_seconds * 1e9 /
        (static_cast<double>(iterations) * Workload::operations * threads);
    state.counters["failed"] = static_cast<double>(result.failed);
    if constexpr (std::same_as<Workload, near_exhaustion>) {
      state.counters["capacity"] = static_cast<double>(sizing_for<Workload>(threads).capacity);
    }
  }
  state.SetItemsProcessed(state.iterations() * Workload::operations * threads);
}

/// Returns true if the workload runs on this number of threads: those of a hand-off come in pairs.
template <typename Workload, contender Pool>
bool runs_on(unsigned threads) {
  return threads <= Pool::max_threads() && (!std::same_as<Workload, handoff> || threads % 2 == 0);
}

template <typename Workload, contender Pool>
void register_workload(std::string_view suffix) {
  for (const unsigned threads : thread_counts()) {
    if (!runs_on<Workload, Pool>(threads)) {
      continue;
    }
    std::string name{Workload::name};
    name.append("/").append(Pool::name).append("/threads:").append(std::to_string(threads));
    name.append(suffix);
    benchmark::RegisterBenchmark(name.c_str(), [threads](benchmark::State& state) {
      run_benchmark<Workload, Pool>(state, threads);
    })->UseManualTime();
  }
}

/// Registers every workload for objects of one size.
template <contender Pool>
void register_size(std::string_view suffix) {
  if constexpr (!Pool::only_crosses_threads) {
    register_workload<pair, Pool>(suffix);
    register_workload<burst, Pool>(suffix);
    register_workload<churn, Pool>(suffix);
    register_workload<thread_churn, Pool>(suffix);
  }
  if constexpr (Pool::crosses_threads) {
    register_workload<handoff, Pool>(suffix);
  }
  if constexpr (!Pool::only_crosses_threads && !Pool::never_fails) {
    register_workload<moving, Pool>(suffix);
  }
  if constexpr (Pool::fixed_capacity) {
    register_workload<near_exhaustion, Pool>(suffix);
  }
}

/// Registers `measure/contender/threads:N`, which is run once a repetition.
template <contender Pool, typename Measure>
void register_once(std::string_view measure, unsigned threads, Measure run) {
  std::string name{measure};
  name.append("/").append(Pool::name).append("/threads:").append(std::to_string(threads));
  benchmark::RegisterBenchmark(name.c_str(), run)->Iterations(1);
}

template <contender Pool>
void register_latency() {
  for (const unsigned threads : thread_counts()) {
    if (threads > Pool::max_threads()) {
      continue;
    }
    register_once<Pool>("latency", threads,
                        [threads](benchmark::State& state) { run_latency<Pool>(state, threads); });
  }
}

/// Registers measures other than times.
template <contender Pool>
void register_measures() {
  if constexpr (!Pool::only_crosses_threads) {
    register_latency<Pool>();
#if defined(__x86_64__)
    register_once<Pool>("locked", 2, run_locked<Pool>);
#endif
    if constexpr (!Pool::never_fails) {
      register_once<Pool>("memory", 1, run_memory<Pool>);
    }
  }
}

template <template <std::size_t> typename Contender>
void register_contender() {
  register_size<Contender<64>>("");
  register_measures<Contender<64>>();
#if LIDO_BENCH_ALL_SIZES
  register_size<Contender<16>>("/bytes:16");
  register_size<Contender<256>>("/bytes:256");
  register_size<Contender<1024>>("/bytes:1024");
  register_size<Contender<4096>>("/bytes:4096");
#endif
}

}  // namespace lido_bench
