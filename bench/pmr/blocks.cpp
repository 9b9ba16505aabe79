/// Measures costs of blocks other than hits. Resources with one size and with eight are made, used
/// once and destroyed, beside the pools of the standard library. Pairs that find a resource full,
/// or fit no block of it, are measured beside malloc and the resource upstream. Refusals are
/// measured with and without an exception, beside those of an object pool. A frame takes blocks and
/// returns all, one by one or at once.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <memory_resource>
#include <vector>

#include "lido/block_resource.hpp"
#include "lido/object_pool.hpp"

namespace lido_bench {
namespace {

constexpr std::size_t small{24};
constexpr std::size_t blocks{320};

struct one_size {
  static lido::block_resource make() {
    return lido::block_resource{{.block_bytes = 32, .blocks = blocks}};
  }
};

struct eight_sizes {
  static lido::block_resource make() {
    return lido::block_resource{{.sizes = {{16, blocks},
                                           {32, blocks},
                                           {64, blocks},
                                           {128, blocks},
                                           {256, blocks},
                                           {512, blocks},
                                           {1024, blocks},
                                           {2048, blocks}}}};
  }
};

template <typename Resource>
struct of_standard {
  static Resource make() { return Resource{}; }
};

template <typename Kind>
using made_by = decltype(Kind::make());

/// Measures that many at once. The time is for one that is made, used for one pair, and destroyed.
template <typename Kind>
void made_used_ended(benchmark::State& state) {
  using resource = made_by<Kind>;
  struct holder {
    resource held{Kind::make()};
  };
  std::vector<std::unique_ptr<holder>> all(static_cast<std::size_t>(state.range(0)));
  for ([[maybe_unused]] auto _ : state) {
    for (auto& one : all) {
      one = std::make_unique<holder>();
    }
    for (auto& one : all) {
      void* const place{one->held.allocate(small)};
      benchmark::DoNotOptimize(place);
      one->held.deallocate(place, small);
    }
    for (auto& one : all) {
      one.reset();
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

template <typename Kind>
void made_ended(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    auto one{Kind::make()};
    benchmark::DoNotOptimize(&one);
  }
}

/// A resource whose blocks are all in use during its lifetime.
struct full_resource {
  full_resource() {
    for (void*& place : held) {
      place = resource.allocate(small);
    }
  }
  ~full_resource() {
    for (void* const place : held) {
      resource.deallocate(place, small);
    }
  }
  full_resource(const full_resource&) = delete;
  full_resource& operator=(const full_resource&) = delete;

  lido::block_resource resource{{.block_bytes = 64, .blocks = 1000, .overflow_to_upstream = true}};
  std::array<void*, 1000> held{};
};

/// A pair on a resource shared by all threads. `bytes`: 64 find the resource full, more fit no
/// block.
template <std::size_t Bytes>
void lido_pair(benchmark::State& state) {
  static full_resource full;
  for ([[maybe_unused]] auto _ : state) {
    void* const place{full.resource.allocate(Bytes)};
    benchmark::DoNotOptimize(place);
    full.resource.deallocate(place, Bytes);
  }
}

template <std::size_t Bytes>
void upstream_pair(benchmark::State& state) {
  std::pmr::memory_resource* const upstream{std::pmr::get_default_resource()};
  for ([[maybe_unused]] auto _ : state) {
    void* const place{upstream->allocate(Bytes)};
    benchmark::DoNotOptimize(place);
    upstream->deallocate(place, Bytes);
  }
}

template <std::size_t Bytes>
void malloc_pair(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    void* const place{std::malloc(Bytes)};
    benchmark::DoNotOptimize(place);
    std::free(place);
  }
}

/// A pair that finds all small blocks in use and gets a larger block.
void larger_pair(benchmark::State& state) {
  lido::block_resource resource{{.sizes = {{64, 1}, {128, 1000}}, .use_larger_blocks = true}};
  void* const held{resource.allocate(64)};
  for ([[maybe_unused]] auto _ : state) {
    void* const place{resource.allocate(64)};
    benchmark::DoNotOptimize(place);
    resource.deallocate(place, 64);
  }
  resource.deallocate(held, 64);
}

/// Resources and pools without a free block, shared by all threads.
struct exhausted {
  lido::block_resource resource{{.block_bytes = 64, .blocks = 1}};
  lido::object_pool<std::array<std::byte, 64>> pool{{.capacity = 1}};
  void* const block{resource.allocate(64)};
  const lido::lease<std::array<std::byte, 64>> lease{pool.acquire()};
  exhausted() = default;
  exhausted(const exhausted&) = delete;
  exhausted& operator=(const exhausted&) = delete;
  ~exhausted() { resource.deallocate(block, 64); }
};

exhausted& exhausted_pools() {
  static exhausted pools;
  return pools;
}

void refused_by_exception(benchmark::State& state) {
  lido::block_resource& resource{exhausted_pools().resource};
  for ([[maybe_unused]] auto _ : state) {
    try {
      benchmark::DoNotOptimize(resource.allocate(64));
    } catch (const lido::no_block& error) {
      benchmark::DoNotOptimize(&error);
    }
  }
}

void refused_by_null(benchmark::State& state) {
  lido::block_resource& resource{exhausted_pools().resource};
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(resource.try_allocate(64));
  }
}

void refused_by_pool(benchmark::State& state) {
  auto& pool{exhausted_pools().pool};
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(pool.try_acquire_ptr());
  }
}

/// Takes 1,000 blocks, and returns them by `Ends::end(resource, blocks)`.
template <typename Ends>
void frame(benchmark::State& state) {
  typename Ends::resource resource{Ends::make()};
  std::array<void*, 1000> taken{};
  for ([[maybe_unused]] auto _ : state) {
    for (void*& place : taken) {
      place = resource.allocate(small);
    }
    benchmark::DoNotOptimize(taken.data());
    Ends::end(resource, taken);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(taken.size()));
}

struct one_by_one {
  using resource = lido::block_resource;
  static resource make() { return resource{{.block_bytes = 32, .blocks = 1000}}; }
  static void end(resource& of, const std::array<void*, 1000>& taken) {
    for (void* const place : taken) {
      of.deallocate(place, small);
    }
  }
};

struct all_at_once {
  using resource = lido::block_resource;
  static resource make() { return one_by_one::make(); }
  static void end(resource& of, const std::array<void*, 1000>& /*taken*/) { of.release(); }
};

struct all_of_standard {
  using resource = std::pmr::unsynchronized_pool_resource;
  static resource make() { return resource{}; }
  static void end(resource& of, const std::array<void*, 1000>& /*taken*/) { of.release(); }
};

using synchronized = of_standard<std::pmr::synchronized_pool_resource>;
using unsynchronized = of_standard<std::pmr::unsynchronized_pool_resource>;

BENCHMARK_TEMPLATE(made_ended, one_size);
BENCHMARK_TEMPLATE(made_ended, eight_sizes);
BENCHMARK_TEMPLATE(made_used_ended, one_size)->Arg(1)->Arg(10)->Arg(400);
BENCHMARK_TEMPLATE(made_used_ended, eight_sizes)->Arg(1)->Arg(10)->Arg(400);
BENCHMARK_TEMPLATE(made_used_ended, synchronized)->Arg(1)->Arg(10)->Arg(400);
BENCHMARK_TEMPLATE(made_used_ended, unsynchronized)->Arg(1)->Arg(10)->Arg(400);

BENCHMARK_TEMPLATE(lido_pair, 64)->Name("full/lido")->Threads(1)->Threads(2)->Threads(8);
BENCHMARK_TEMPLATE(upstream_pair, 64)->Name("full/upstream")->Threads(1)->Threads(2)->Threads(8);
BENCHMARK_TEMPLATE(malloc_pair, 64)->Name("full/malloc")->Threads(1)->Threads(2)->Threads(8);
BENCHMARK_TEMPLATE(lido_pair, 100)->Name("misfit/lido")->Threads(1)->Threads(2)->Threads(8);
BENCHMARK_TEMPLATE(upstream_pair, 100)->Name("misfit/upstream")->Threads(1)->Threads(2)->Threads(8);
BENCHMARK_TEMPLATE(malloc_pair, 100)->Name("misfit/malloc")->Threads(1)->Threads(2)->Threads(8);
BENCHMARK_TEMPLATE(frame, one_by_one)->Name("frame/lido_each");
BENCHMARK_TEMPLATE(frame, all_at_once)->Name("frame/lido_release");
BENCHMARK_TEMPLATE(frame, all_of_standard)->Name("frame/pmr_unsynchronized_release");
BENCHMARK(larger_pair)->Name("full/lido_larger");
BENCHMARK(refused_by_exception)->Name("refused/lido_throw")->Threads(1)->Threads(2);
BENCHMARK(refused_by_null)->Name("refused/lido_try")->Threads(1)->Threads(2);
BENCHMARK(refused_by_pool)->Name("refused/object_pool")->Threads(1)->Threads(2);

}  // namespace
}  // namespace lido_bench

BENCHMARK_MAIN();
