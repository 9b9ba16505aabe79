/// Acquires N objects from a new pool, writes each once, and releases them: `fill`. A growing pool
/// is measured beside one that has N slots from the start and beside malloc. Also the time of a
/// shrink: `shrink`, for each slot that it visits. And what it costs to release N objects in use,
/// for each of them: `empty` by release_all, or one by one.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "contender.hpp"
#include "lido/object_pool.hpp"

namespace lido_bench {
namespace {

using object = block<64>;

struct growing {
  using pool = lido::object_pool<object>;
  explicit growing(std::size_t count)
      : slots{{.max_capacity = count, .when_full = lido::when_full::grow}} {}
  object* acquire() { return slots.try_acquire_ptr(lido::default_init); }
  void release(object* done) { slots.release(done); }
  pool slots;
};

struct fixed {
  explicit fixed(std::size_t count) : slots{count} {}
  object* acquire() { return slots.try_acquire_ptr(lido::default_init); }
  void release(object* done) { slots.release(done); }
  lido::object_pool<object> slots;
};

struct heap {
  explicit heap(std::size_t /*count*/) {}
  static object* acquire() { return static_cast<object*>(std::malloc(sizeof(object))); }
  static void release(object* done) { std::free(done); }
};

template <class Store>
void fill(benchmark::State& state) {
  const auto count{static_cast<std::size_t>(state.range(0))};
  std::vector<object*> held(count);
  for (auto _ : state) {
    Store store{count};
    for (object*& place : held) {
      place = store.acquire();
      if (place == nullptr) {
        state.SkipWithError("starved");
        return;
      }
      std::memset(place, 1, sizeof(object));
    }
    for (object* const done : held) {
      store.release(done);
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void shrink(benchmark::State& state) {
  const auto count{static_cast<std::size_t>(state.range(0))};
  growing store{count};
  for (auto _ : state) {
    state.PauseTiming();
    store.slots.reserve(count);
    state.ResumeTiming();
    benchmark::DoNotOptimize(store.slots.shrink_to(0));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

/// An object that counts its destructions.
struct counted {
  ~counted() { ++destroyed; }
  static inline std::size_t destroyed = 0;
  std::size_t number = 0;
};

template <class T>
struct by_release_all {
  static void empty(lido::object_pool<T>& pool, const std::vector<T*>& /*held*/) {
    pool.release_all();
  }
};
template <class T>
struct one_by_one {
  static void empty(lido::object_pool<T>& pool, const std::vector<T*>& held) {
    for (T* const done : held) {
      pool.release(done);
    }
  }
};

/// Empties a pool of which the given number of objects in a thousand are in use.
template <class T, template <class> class How>
void empty(benchmark::State& state) {
  const auto count{static_cast<std::size_t>(state.range(0))};
  lido::object_pool<T> pool{count};
  std::vector<T*> held(count * static_cast<std::size_t>(state.range(1)) / 1000);
  for (auto _ : state) {
    state.PauseTiming();
    for (T*& place : held) {
      place = pool.try_acquire_ptr(lido::default_init);
    }
    state.ResumeTiming();
    How<T>::empty(pool, held);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(held.size()));
}

BENCHMARK_TEMPLATE(empty, object, by_release_all)->ArgsProduct({{1000, 100'000}, {1000, 100}});
BENCHMARK_TEMPLATE(empty, object, one_by_one)->ArgsProduct({{1000, 100'000}, {1000, 100}});
BENCHMARK_TEMPLATE(empty, counted, by_release_all)->ArgsProduct({{1000, 100'000}, {1000, 100}});
BENCHMARK_TEMPLATE(empty, counted, one_by_one)->ArgsProduct({{1000, 100'000}, {1000, 100}});
BENCHMARK_TEMPLATE(fill, growing)->Arg(1000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK_TEMPLATE(fill, fixed)->Arg(1000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK_TEMPLATE(fill, heap)->Arg(1000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(shrink)->Arg(1000)->Arg(100'000)->Arg(1'000'000);

}  // namespace
}  // namespace lido_bench

BENCHMARK_MAIN();
