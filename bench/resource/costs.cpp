/// Costs of resource pools other than lending: refusals while many leases are out, ticks over many
/// idle resources, and moves of capacity between keys. Also a lease's check for active exceptions.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <vector>

#include "lido/keyed_resource_pool.hpp"
#include "lido/resource_pool.hpp"

namespace lido_bench {
namespace {

using namespace std::chrono_literals;
using pool = lido::resource_pool<int>;
using keyed_pool = lido::keyed_resource_pool<unsigned, int>;

struct by_try {
  static bool is_refused(pool& of) { return !of.try_acquire(); }
};
struct by_result {
  static bool is_refused(pool& of) { return !of.try_acquire_for(0ns); }
};
struct by_throw {
  static bool is_refused(pool& of) {
    try {
      return !of.acquire_for(0ns);
    } catch (const lido::acquire_error& error) {
      return error.cause() == lido::acquire_failure::timed_out;
    }
  }
};

/// Measures refusals with all resources in use.
template <class Way>
void refused(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  pool all(
      [] { return 0; },
      {.max_size = size, .detect_hold_and_wait = false, .maintenance = lido::maintenance::by_tick});
  std::vector<pool::lease_type> held;
  while (held.size() < size) {
    held.push_back(all.acquire());
  }
  for (auto _ : state) {
    if (!Way::is_refused(all)) {
      state.SkipWithError("there was a resource");
      return;
    }
  }
}

/// A clock that advances a second at each tick, so that each tick checks all resources.
class fast_clock : public lido::time_source {
 public:
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept override { return now_; }
  void advance() { now_ += 1s; }

 private:
  std::chrono::nanoseconds now_ = 1s;
};

/// Returns options with which no resource is ever due for anything.
lido::resource_pool_options by_tick(std::size_t size, const fast_clock& clock) {
  return {.max_size = size,
          .idle_timeout = 0s,
          .max_lifetime = 0s,
          .keepalive = 0s,
          .maintenance = lido::maintenance::by_tick,
          .clock = &clock};
}

/// Measures a tick with that many idle resources.
void tick(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  fast_clock clock;
  pool all([] { return 0; }, by_tick(size, clock));
  std::vector<pool::lease_type> held;
  while (held.size() < size) {
    held.push_back(all.acquire());
  }
  held.clear();
  for (auto _ : state) {
    clock.advance();
    all.tick();
  }
  if (all.stats().idle != size) {
    state.SkipWithError("some have ended");
  }
}

/// Measures a tick with ten resources of each key.
void tick_with_keys(benchmark::State& state) {
  constexpr std::size_t each = 10;
  const auto keys = static_cast<unsigned>(state.range(0)) / each;
  fast_clock clock;
  keyed_pool all([](unsigned) { return 0; },
                 {.max_total = keys * each, .each_key = by_tick(each, clock)});
  std::vector<keyed_pool::lease_type> held;
  while (held.size() < keys * each) {
    held.push_back(all.at(static_cast<unsigned>(held.size() % keys)).acquire());
  }
  held.clear();
  for (auto _ : state) {
    clock.advance();
    all.tick();
  }
  if (all.stats().idle != keys * each) {
    state.SkipWithError("some have ended");
  }
}

/// Measures acquires that each take the capacity of the least recently used key: one resource is
/// destroyed, and another is created.
void move_place(benchmark::State& state) {
  const auto places = static_cast<unsigned>(state.range(0));
  fast_clock clock;
  std::size_t created = 0;
  keyed_pool all([&created](unsigned) { return static_cast<int>(++created); },
                 {.max_total = places, .each_key = by_tick(1, clock)});
  unsigned key = 0;
  const auto use_next = [&] {
    if (key % (places / 4) == 0) {  // or all would have been used at the same moment
      clock.advance();
      all.tick();
    }
    (void)all.at(key).acquire();
    key = (key + 1) % (2 * places);
  };
  while (created < places) {
    use_next();
  }
  for (auto _ : state) {
    use_next();
  }
  if (created != places + static_cast<std::size_t>(state.iterations())) {
    state.SkipWithError("a place did not move");
  }
}

struct without_reset {
  static int create() { return 0; }
};
struct quick_reset : without_reset {
  static bool reset(const int& used) noexcept { return used == 0; }
};
struct careful_reset : without_reset {
  static bool reset(const int& used) { return used == 0; }
};

/// Measures an acquire and a release in one thread.
template <class Factory>
void pair_with(benchmark::State& state) {
  pool all(Factory{}, {.max_size = 4});
  (void)all.acquire();
  for (auto _ : state) {
    const auto lease = all.acquire();
    benchmark::DoNotOptimize(*lease);
  }
}

/// Measures the check at the start and at the end of a lease.
void unwinding_check(benchmark::State& state) {
  for (auto _ : state) {
    int before = std::uncaught_exceptions();
    benchmark::DoNotOptimize(before);
    benchmark::DoNotOptimize(std::uncaught_exceptions() > before);
  }
}

BENCHMARK_TEMPLATE(refused, by_try)->Arg(10)->Arg(10'000);
BENCHMARK_TEMPLATE(refused, by_result)->Arg(10)->Arg(10'000);
BENCHMARK_TEMPLATE(refused, by_throw)->Arg(10)->Arg(10'000);
BENCHMARK(tick)->Arg(10)->Arg(10'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(tick_with_keys)->Arg(10)->Arg(10'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(move_place)->Arg(100)->Arg(10'000);
BENCHMARK_TEMPLATE(pair_with, without_reset);
BENCHMARK_TEMPLATE(pair_with, quick_reset);
BENCHMARK_TEMPLATE(pair_with, careful_reset);
BENCHMARK(unwinding_check);

}  // namespace
}  // namespace lido_bench

BENCHMARK_MAIN();
