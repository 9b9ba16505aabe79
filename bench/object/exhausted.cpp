/// Costs of refusals: `try_acquire`, and `acquire` that throws, of a pool whose slots are all out.
/// Compares them with a list of free objects as engines have it, whose refusal proves nothing about
/// caches, since it has none.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "contender.hpp"
#include "lido/object_pool.hpp"

namespace lido_bench {
namespace {

using object = block<64>;

struct fail_by_try {
  using pool = lido::object_pool<object>;
  static bool is_refused(pool& slots) { return !slots.try_acquire(lido::default_init); }
};

struct fail_by_throw {
  using pool = lido::object_pool<object>;
  static bool is_refused(pool& slots) {
    try {
      return !slots.acquire(lido::default_init);
    } catch (const lido::pool_exhausted&) {
      return true;
    }
  }
};

/// A pool whose slots are all in use during its lifetime.
template <typename Pool>
struct empty_pool {
  empty_pool() {
    while (object* const taken{slots.try_acquire_ptr(lido::default_init)}) {
      held.push_back(taken);
    }
  }
  ~empty_pool() { slots.release_n(held); }
  empty_pool(const empty_pool&) = delete;
  empty_pool& operator=(const empty_pool&) = delete;

  Pool slots{256};
  std::vector<object*> held;
};

/// Our model of the fixed-size free list of Jolt Physics: a head with a tag, and a count of objects
/// never used. If both are used up, a thread looks for another page under a mutex.
class engine_list {
 public:
  explicit engine_list(std::uint32_t capacity) : links_(capacity), capacity_{capacity} {}

  static constexpr std::uint32_t none{0xFFFF'FFFF};

  std::uint32_t acquire() {
    for (;;) {
      std::uint64_t head{head_.load(std::memory_order_acquire)};
      const auto first = static_cast<std::uint32_t>(head);
      if (first == none) {
        return acquire_unused();
      }
      // relaxed: the tag shows whether the link was stale
      const std::uint64_t next{links_[first].load(std::memory_order_relaxed)};
      // relaxed: a count that orders nothing
      const std::uint64_t tag{tag_.fetch_add(1, std::memory_order_relaxed)};
      if (head_.compare_exchange_weak(head, next | tag << 32U, std::memory_order_release)) {
        return first;
      }
    }
  }

 private:
  std::uint32_t acquire_unused() {
    // relaxed: a count that orders nothing
    const std::uint64_t unused{unused_.fetch_add(1, std::memory_order_relaxed)};
    if (unused < capacity_) {
      return static_cast<std::uint32_t>(unused);
    }
    const std::lock_guard lock{pages_};
    return none;
  }

  std::vector<std::atomic<std::uint32_t>> links_;
  std::uint32_t capacity_;
  std::mutex pages_;
  alignas(64) std::atomic<std::uint64_t> head_{none};
  std::atomic<std::uint64_t> tag_{1};
  std::atomic<std::uint64_t> unused_{0};  // 64 bits: it counts on
};

void refused_by_engine_list(benchmark::State& state) {
  static engine_list full{256};  // shared by all threads
  while (full.acquire() != engine_list::none) {
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(full.acquire());
  }
}

template <typename Way>
void refused(benchmark::State& state) {
  static empty_pool<typename Way::pool> empty;  // shared by all threads
  for (auto _ : state) {
    if (!Way::is_refused(empty.slots)) {
      state.SkipWithError("there was a slot");
      return;
    }
  }
}

BENCHMARK_TEMPLATE(refused, fail_by_try)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();
BENCHMARK_TEMPLATE(refused, fail_by_throw)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(refused_by_engine_list)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();

}  // namespace
}  // namespace lido_bench

BENCHMARK_MAIN();
