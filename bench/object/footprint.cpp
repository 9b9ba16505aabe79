/// Costs of pools beside their slots: memory and time of pools that no thread uses, and of pools
/// that a thread has used. Also the time that the end of a thread takes after its use of one.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <chrono>
#include <cstddef>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "contender.hpp"
#include "lido/object_pool.hpp"

namespace lido_bench {
namespace {

using pool = lido::object_pool<block<16>>;
using pools = std::vector<std::unique_ptr<pool>>;
constexpr std::size_t slots{16};

std::size_t resident_bytes() {
  std::ifstream statm{"/proc/self/statm"};
  std::size_t all{0};
  std::size_t resident{0};
  statm >> all >> resident;
  return resident * 4096;
}

std::size_t heap_bytes() {
  const struct mallinfo2 heap { ::mallinfo2() };
  return heap.uordblks + heap.hblkhd;
}

void construct(pools& places) {
  for (auto& place : places) {
    place = std::make_unique<pool>(slots);
  }
}

void use(pools& places) {
  for (auto& place : places) {
    place->release(place->try_acquire_ptr(lido::default_init));
  }
}

/// Makes that many pools of 16 slots, which one thread uses if `used`.
void pool_of_16(benchmark::State& state, bool used) {
  pools places(static_cast<std::size_t>(state.range(0)));
  const auto count{static_cast<double>(places.size())};
  const std::size_t heap{heap_bytes()};
  const std::size_t resident{resident_bytes()};
  construct(places);
  if (used) {
    use(places);
  }
  state.counters["heap_bytes"] = static_cast<double>(heap_bytes() - heap) / count;
  state.counters["resident_bytes"] = static_cast<double>(resident_bytes() - resident) / count;
  for (auto& place : places) {
    place.reset();
  }
  for ([[maybe_unused]] auto _ : state) {
    construct(places);
    if (used) {
      use(places);
    }
    for (auto& place : places) {
      place.reset();
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

/// Measures a pool of 1,000 slots that is made, used by one thread, and destroyed, as the only one.
void next_pool(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    pool next{1000};
    next.release(next.try_acquire_ptr(lido::default_init));
  }
}

/// Measures such a pool as the first one of the process.
void first_pool(benchmark::State& state) {
  using clock = std::chrono::steady_clock;
  static bool is_first{true};
  if (!std::exchange(is_first, false)) {
    state.SkipWithError("another pool was first: run it alone, once in a process");
    return;
  }
  for ([[maybe_unused]] auto _ : state) {
    const auto begin{clock::now()};
    {
      pool first{1000};
      first.release(first.try_acquire_ptr(lido::default_init));
    }
    state.SetIterationTime(std::chrono::duration<double>(clock::now() - begin).count());
  }
}

/// Measures from the last statement of a thread that used one pool until it is joined, while that
/// many pools are alive.
void thread_end(benchmark::State& state) {
  using clock = std::chrono::steady_clock;
  pools places(static_cast<std::size_t>(state.range(0)));
  construct(places);
  for ([[maybe_unused]] auto _ : state) {
    clock::time_point last;
    std::thread worker{[&] {
      places.front()->release(places.front()->try_acquire_ptr(lido::default_init));
      last = clock::now();
    }};
    worker.join();
    state.SetIterationTime(std::chrono::duration<double>(clock::now() - last).count());
  }
}

/// Measures twenty million slots that no thread has used.
void large_pool(benchmark::State& state) {
  const std::size_t resident{resident_bytes()};
  const pool large{20'000'000};
  state.counters["resident_bytes"] = static_cast<double>(resident_bytes() - resident);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(large.capacity());
  }
}

BENCHMARK(first_pool)->Iterations(1)->UseManualTime();
BENCHMARK_CAPTURE(pool_of_16, unused, false)->Arg(1)->Arg(1000);
BENCHMARK_CAPTURE(pool_of_16, used_by_one_thread, true)->Arg(1)->Arg(1000);
BENCHMARK(next_pool);
BENCHMARK(thread_end)->Arg(1)->Arg(10'000)->UseManualTime();
BENCHMARK(large_pool);

}  // namespace
}  // namespace lido_bench

BENCHMARK_MAIN();
