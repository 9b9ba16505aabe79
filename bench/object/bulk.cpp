/// Bursts of 32 and of 256 objects, acquired in one call and released in one call, beside DPDK's
/// mempool and beside single calls.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>

#include "contender.hpp"
#include "lido/object_pool.hpp"
#ifdef LIDO_BENCH_DPDK
#include "contenders/dpdk_cached.hpp"
#endif

namespace lido_bench {
namespace {

using object = block<64>;
using lido_objects = lido::object_pool<object>;

constexpr std::size_t capacity = 8192;

/// Runs `step` until the benchmark ends, and counts its `Burst` objects.
template <std::size_t Burst, typename Step>
void run(benchmark::State& state, Step step) {
  for ([[maybe_unused]] auto _ : state) {
    if (!step()) {
      state.SkipWithError("the pool is exhausted");
      break;
    }
  }
  state.counters["object"] =
      benchmark::Counter(static_cast<double>(state.iterations() * Burst),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// A pool that all threads of a benchmark share. It is made at its first use and never destroyed,
/// because DPDK's threads outlive their benchmark.
lido_objects& shared_objects() {
  static auto& objects = *new lido_objects{capacity};
  return objects;
}

template <std::size_t Burst>
void lido_n(benchmark::State& state) {
  lido_objects& objects{shared_objects()};
  std::array<object*, Burst> some{};
  run<Burst>(state, [&] {
    const bool all{objects.try_acquire_n(some, lido::default_init) == Burst};
    benchmark::DoNotOptimize(some);
    objects.release_n(some);
    return all;
  });
}

template <std::size_t Burst>
void lido_all(benchmark::State& state) {
  lido_objects& objects{shared_objects()};
  std::array<object*, Burst> some{};
  run<Burst>(state, [&] {
    const bool all{objects.try_acquire_all(some, lido::default_init)};
    benchmark::DoNotOptimize(some);
    objects.release_n(some);
    return all;
  });
}

template <std::size_t Burst>
void lido_leases(benchmark::State& state) {
  lido_objects& objects{shared_objects()};
  std::array<lido::lease<object>, Burst> some{};
  run<Burst>(state, [&] {
    const bool all{objects.try_acquire_all(some, lido::default_init)};
    benchmark::DoNotOptimize(some);
    for (auto& each : some) {
      each.reset();
    }
    return all;
  });
}

template <std::size_t Burst>
void lido_singly(benchmark::State& state) {
  lido_objects& objects{shared_objects()};
  std::array<object*, Burst> some{};
  run<Burst>(state, [&] {
    for (object*& each : some) {
      each = objects.try_acquire_ptr(lido::default_init);
    }
    benchmark::DoNotOptimize(some);
    const bool all{some.back() != nullptr};
    for (object* const each : some) {
      objects.release(each);
    }
    return all;
  });
}

BENCHMARK(lido_n<32>)->ThreadRange(1, 2);
BENCHMARK(lido_n<256>)->ThreadRange(1, 2);
BENCHMARK(lido_all<32>)->ThreadRange(1, 2);
BENCHMARK(lido_all<256>)->ThreadRange(1, 2);
BENCHMARK(lido_leases<32>)->ThreadRange(1, 2);
BENCHMARK(lido_leases<256>)->ThreadRange(1, 2);
BENCHMARK(lido_singly<32>)->ThreadRange(1, 2);
BENCHMARK(lido_singly<256>)->ThreadRange(1, 2);

#ifdef LIDO_BENCH_DPDK
using dpdk_objects = dpdk_cached<sizeof(object)>;

dpdk_objects& shared_mempool() {
  static auto& objects = *new dpdk_objects{sizing{capacity, cores()}};
  return objects;
}

template <std::size_t Burst>
void dpdk_bulk(benchmark::State& state) {
  dpdk_objects::session session{shared_mempool()};
  std::array<void*, Burst> some{};
  run<Burst>(state, [&] {
    const bool all{session.acquire_all(some)};
    benchmark::DoNotOptimize(some);
    session.release_all(some);
    return all;
  });
}

template <std::size_t Burst>
void dpdk_singly(benchmark::State& state) {
  dpdk_objects::session session{shared_mempool()};
  std::array<void*, Burst> some{};
  run<Burst>(state, [&] {
    for (void*& each : some) {
      each = session.acquire();
    }
    benchmark::DoNotOptimize(some);
    for (void* const each : some) {
      session.release(each);
    }
    return some.back() != nullptr;
  });
}

BENCHMARK(dpdk_bulk<32>)->ThreadRange(1, 2);
BENCHMARK(dpdk_bulk<256>)->ThreadRange(1, 2);
BENCHMARK(dpdk_singly<32>)->ThreadRange(1, 2);
BENCHMARK(dpdk_singly<256>)->ThreadRange(1, 2);
#endif

}  // namespace
}  // namespace lido_bench

BENCHMARK_MAIN();
