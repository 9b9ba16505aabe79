/// @file
/// `latency`: the time of one single acquire, in percentiles; an average must not hide a long tail.
///
/// Each thread holds a changing number of objects, up to twice what a cache of Lido may hold, so
/// that caches run empty and full. It reads the clock around every acquire. The cost of the clock
/// itself is measured first and subtracted.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "run_workload.hpp"

namespace lido_bench {

namespace detail {

constexpr std::size_t samples_per_thread{std::size_t{1} << 18U};
constexpr std::size_t most_held{1024};
constexpr std::chrono::seconds longest_sampling{1};  // a contender that takes longer is slow enough

/// Returns the shortest distance of two readings, which each sample contains.
inline std::int64_t clock_cost() {
  std::int64_t shortest{1000};
  for (int i{0}; i < 10000; ++i) {
    const auto first = bench_clock::now();
    const auto second = bench_clock::now();
    shortest = std::min<std::int64_t>(shortest, (second - first).count());
  }
  return shortest;
}

/// Fills `samples` with nanoseconds of single acquires.
template <typename Pool>
void sample(Pool& pool, lane& self, std::vector<std::int64_t>& samples) {
  typename Pool::session session{pool};
  std::vector<void*> held;
  held.reserve(most_held);
  std::uint64_t random{self.index() + 1};
  self.enter_phase();
  self.enter_phase();
  const bench_clock::time_point end{bench_clock::now() + longest_sampling};
  while (samples.size() < samples_per_thread && bench_clock::now() < end) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const std::size_t wanted{random >> 54U};  // 0 to 1023
    while (held.size() < wanted && samples.size() < samples_per_thread) {
      const auto begin = bench_clock::now();
      held.push_back(take<Pool>(session, self));
      samples.push_back((bench_clock::now() - begin).count());
    }
    while (held.size() > wanted) {
      give(session, held.back());
      held.pop_back();
    }
  }
  give_all(session, held);
  self.stop();
}

}  // namespace detail

template <contender Pool>
void run_latency(benchmark::State& state, unsigned threads) {
  static const std::int64_t overhead{detail::clock_cost()};
  for (auto _ : state) {
    Pool pool{sizing_for<burst>(threads)};
    std::vector<std::vector<std::int64_t>> samples(threads);
    for (auto& of_thread : samples) {
      of_thread.reserve(detail::samples_per_thread);
    }
    const team_result result{run_team(
        threads, 0, 0, [&](lane& self) { detail::sample(pool, self, samples[self.index()]); })};
    if (result.starved) {
      state.SkipWithError("starved");
      return;
    }
    std::vector<std::int64_t> all;
    for (const auto& of_thread : samples) {
      all.insert(all.end(), of_thread.begin(), of_thread.end());
    }
    std::sort(all.begin(), all.end());
    const auto at = [&](double share) {
      const auto rank = static_cast<std::size_t>(share * static_cast<double>(all.size() - 1));
      return static_cast<double>(std::max<std::int64_t>(0, all[rank] - overhead));
    };
    state.counters["samples"] = static_cast<double>(all.size());
    state.counters["p50"] = at(0.5);
    state.counters["p99"] = at(0.99);
    state.counters["p99.9"] = at(0.999);
    state.counters["p99.99"] = at(0.9999);
    state.counters["max"] = at(1);
  }
}

}  // namespace lido_bench
