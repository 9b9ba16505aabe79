/// Costs of an operation of a locked cache. On a system without a heavy fence, revocable caches are
/// locked ones. The pair of an acquire and a release is measured in each kind of pool, beside
/// models of other locks. All run in one thread, so that no operation waits for another thread.
#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "lido/object_pool.hpp"

namespace lido_bench {
namespace {

template <lido::cache_kind Kind>
void pool(benchmark::State& state) {
  lido::object_pool<std::uint64_t> slots{{.capacity = 1000, .caches = Kind}};
  for (auto _ : state) {
    std::uint64_t* const object{slots.try_acquire_ptr(std::uint64_t{1})};
    benchmark::DoNotOptimize(object);
    slots.release(object);
  }
}

/// A stack that could have one thief, which never appears here. `Lock`: how its owner locks it.
template <typename Lock>
class stack {
 public:
  std::uint64_t pop() {
    lock_.lock();
    // relaxed (all below): ordered by the lock
    const std::size_t count{count_.load(std::memory_order_relaxed) - 1};
    const std::uint64_t item{cells_.at(count).load(std::memory_order_relaxed)};
    count_.store(count, std::memory_order_relaxed);
    lock_.unlock();
    return item;
  }

  void push(std::uint64_t item) {
    lock_.lock();
    const std::size_t count{count_.load(std::memory_order_relaxed)};
    cells_.at(count).store(item, std::memory_order_relaxed);
    count_.store(count + 1, std::memory_order_relaxed);
    lock_.unlock();
  }

 private:
  alignas(64) Lock lock_;
  std::atomic<std::size_t> count_{8};
  std::array<std::atomic<std::uint64_t>, 16> cells_{};
};

/// A lock like Lido's: a word with a generation, which a compare-and-swap takes and a plain store
/// releases.
class by_compare_and_swap {
 public:
  void lock() {
    std::uint64_t seen{word_.load(std::memory_order_relaxed)};
    held_ = seen + 1;
    while (!word_.compare_exchange_weak(seen, held_, std::memory_order_acq_rel)) {
    }
  }
  void unlock() { word_.store(held_ + 1, std::memory_order_release); }

 private:
  std::atomic<std::uint64_t> word_{0};
  std::uint64_t held_{0};
};

/// A lock that the owner always gets; the value it found shows whether a thief was there.
class by_exchange {
 public:
  void lock() {
    const std::uint64_t seen{word_.load(std::memory_order_relaxed)};
    held_ = seen + 1;
    benchmark::DoNotOptimize(word_.exchange(held_, std::memory_order_acq_rel) == seen);
  }
  void unlock() { word_.store(held_ + 1, std::memory_order_release); }

 private:
  std::atomic<std::uint64_t> word_{0};
  std::uint64_t held_{0};
};

/// Dekker's lock: the owner announces itself, and checks for a thief after a full fence.
class by_flag_and_fence {
 public:
  void lock() {
    here_.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    benchmark::DoNotOptimize(thief_.load(std::memory_order_relaxed));
  }
  void unlock() { here_.store(0, std::memory_order_release); }

 private:
  std::atomic<std::uint64_t> here_{0};
  std::atomic<std::uint64_t> thief_{0};
};

template <typename Lock>
void model(benchmark::State& state) {
  stack<Lock> slots;
  for (auto _ : state) {
    const std::uint64_t item{slots.pop()};
    benchmark::DoNotOptimize(item);
    slots.push(item);
  }
}

BENCHMARK(pool<lido::cache_kind::revocable>)->Name("pool_revocable");
BENCHMARK(pool<lido::cache_kind::locked>)->Name("pool_locked");
BENCHMARK(pool<lido::cache_kind::none>)->Name("pool_none");
BENCHMARK(model<by_compare_and_swap>)->Name("model_compare_and_swap");
BENCHMARK(model<by_exchange>)->Name("model_exchange");
BENCHMARK(model<by_flag_and_fence>)->Name("model_flag_and_fence");
BENCHMARK(model<std::mutex>)->Name("model_mutex");

}  // namespace
}  // namespace lido_bench

BENCHMARK_MAIN();
