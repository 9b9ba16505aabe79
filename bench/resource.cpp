/// @file
/// Resource pools beside one another: an idle one at hand, more threads than resources, hand-over,
/// thousands of waiting threads. One line a measurement; contenders take turns in every round.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "resource_pools.hpp"

namespace {

using namespace std::chrono_literals;
using lido_bench::bench_clock;
using lido_bench::stub_connection;

constexpr std::size_t resources = 8;

struct result {
  std::vector<double> values;
  [[nodiscard]] double median() {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
};

void touch(stub_connection& connection) {
  ++connection.queries;
  asm volatile("" : : "r"(&connection) : "memory");
}

/// So long that others have to wait: about two microseconds of work.
void query(stub_connection& connection) {
  const auto end = bench_clock::now() + 2us;
  while (bench_clock::now() < end) {
  }
  touch(connection);
}

/// Uses that one thread has counted so far; read while it counts.
struct alignas(128) counter {
  std::atomic<std::uint64_t> uses{0};
};

std::uint64_t sum_of(const std::vector<counter>& counters) {
  std::uint64_t sum = 0;
  for (const counter& one : counters) {
    sum += one.uses.load(std::memory_order_relaxed);
  }
  return sum;
}

/// Nanoseconds of wall time for each use, of all threads together, once all of them have begun. How
/// long a thousand threads take to end is not in it.
template <class Pool, class Use>
double time_per_use(unsigned threads, std::chrono::milliseconds length, const Use& use) {
  Pool pool(resources);
  std::atomic<bool> over{false};
  std::vector<counter> counters(threads);
  std::latch ready(threads + 1);
  std::vector<std::thread> team;
  team.reserve(threads);
  for (counter& mine : counters) {
    team.emplace_back([&] {
      ready.arrive_and_wait();
      for (std::uint64_t uses = 0; !over.load(std::memory_order_relaxed);) {
        pool.with_one(use);
        mine.uses.store(++uses, std::memory_order_relaxed);
      }
    });
  }
  ready.arrive_and_wait();
  std::this_thread::sleep_for(length / 4);
  const std::uint64_t uses_before = sum_of(counters);
  const auto begin = bench_clock::now();
  std::this_thread::sleep_for(length);
  const std::uint64_t uses = sum_of(counters) - uses_before;
  const auto wall = std::chrono::duration<double, std::nano>(bench_clock::now() - begin).count();
  over = true;
  for (std::thread& thread : team) {
    thread.join();
  }
  return wall / static_cast<double>(std::max<std::uint64_t>(uses, 1));
}

/// Nanoseconds from the moment one thread gives a resource back to the moment that the next one,
/// which sleeps, has it. The 99th percentile.
template <class Pool>
double hand_over_latency(int samples) {
  Pool pool(1);
  std::vector<double> waits;
  waits.reserve(static_cast<std::size_t>(samples));
  std::atomic<bench_clock::time_point> given{};
  for (int i = 0; i < samples; ++i) {
    std::latch held(1);
    std::latch waiting(1);
    std::thread other([&] {
      held.wait();
      waiting.count_down();
      pool.with_one([&](stub_connection& connection) {
        const auto now = bench_clock::now();
        waits.push_back(std::chrono::duration<double, std::nano>(now - given.load()).count());
        touch(connection);
      });
    });
    pool.with_one([&](stub_connection& connection) {
      held.count_down();
      waiting.wait();
      std::this_thread::sleep_for(200us);  // it sleeps now
      touch(connection);
      given = bench_clock::now();
    });
    other.join();
  }
  std::sort(waits.begin(), waits.end());
  return waits[waits.size() * 99 / 100];
}

/// What is measured; all of it unless the command line names parts.
struct plan {
  std::chrono::milliseconds length = 300ms;
  int rounds = 5;
  int samples = 200;
  bool pairs = true;
  bool waiting = true;
  bool crowd = true;  ///< ten thousand threads
  bool handing = true;
};

template <class Pool>
struct runner {
  result pairs[3], contended, thousand, ten_thousand, latency;

  void round(const plan& todo) {
    const unsigned threads[] = {1, 2, 8};
    for (int i = 0; i < 3; ++i) {
      pairs[i].values.push_back(todo.pairs ? time_per_use<Pool>(threads[i], todo.length, touch)
                                           : 0);
    }
    const auto busy = [&](bool measured, unsigned crew) {
      return measured ? time_per_use<Pool>(crew, todo.length, query) : 0;
    };
    contended.values.push_back(busy(todo.waiting, 16));
    thousand.values.push_back(busy(todo.waiting, 1000));
    // Ten thousand threads that yield would measure the scheduler.
    ten_thousand.values.push_back(busy(todo.crowd && Pool::sleeps, 10'000));
    latency.values.push_back(todo.handing ? hand_over_latency<Pool>(todo.samples) : 0);
  }

  void print() {
    std::printf("%-18s %8.1f %8.1f %8.1f %10.0f %10.0f %10.0f %12.0f\n", Pool::name.data(),
                pairs[0].median(), pairs[1].median(), pairs[2].median(), contended.median(),
                thousand.median(), ten_thousand.median(), latency.median());
  }
};

/// False: not an option.
bool read_option(const std::string& option, plan& todo) {
  if (option == "--short") {
    todo.length = 20ms;
    todo.rounds = 1;
    todo.crowd = false;
    return true;
  }
  if (option == "--pairs" || option == "--waiting" || option == "--handing") {
    todo.pairs = option == "--pairs";
    todo.waiting = option == "--waiting";
    todo.handing = option == "--handing";
    todo.crowd = false;
    return true;
  }
  return false;
}

/// The numbers that the pool is held to, as ratios of this run. What was not measured is nan.
template <class Lido, class Bare, class... Peer>
void print_ratios(Lido& lido, Bare& bare, Peer&... peers) {
  std::printf("mutex_vector / lido: %.2f, %.2f, %.2f for pairs of 1, 2, 8 threads\n",
              bare.pairs[0].median() / lido.pairs[0].median(),
              bare.pairs[1].median() / lido.pairs[1].median(),
              bare.pairs[2].median() / lido.pairs[2].median());
  std::printf("lido with 1000 threads: %.0f %% of its throughput with 16\n",
              100 * lido.contended.median() / lido.thousand.median());
  std::printf("hand-over p99: %.2f of the best peer's\n",
              lido.latency.median() / std::min({bare.latency.median(), peers.latency.median()...}));
}

}  // namespace

int main(int argc, char** argv) {
  plan todo;
  for (int i = 1; i < argc; ++i) {
    if (!read_option(argv[i], todo)) {
      std::fprintf(stderr, "usage: %s [--pairs | --waiting | --handing] [--short]\n", argv[0]);
      return EXIT_FAILURE;
    }
  }
  pthread_attr_t small;  // ten thousand stacks
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, std::size_t{64} * 1024);
  pthread_setattr_default_np(&small);

  runner<lido_bench::lido_resources> lido;
  runner<lido_bench::bare_mutex> bare;
  runner<lido_bench::mutex_condition> condition;
#if LIDO_BENCH_TBB
  runner<lido_bench::tbb_bounded> tbb;
#endif
  for (int round = 0; round < todo.rounds; ++round) {
    lido.round(todo);
    bare.round(todo);
    condition.round(todo);
#if LIDO_BENCH_TBB
    tbb.round(todo);
#endif
  }
  std::printf(
      "%zu resources; wall time of all threads for one use, nanoseconds; medians of %d\n"
      "pair: nothing is done with a resource; busy: two microseconds of work; 0: not measured\n",
      resources, todo.rounds);
  std::printf("%-18s %8s %8s %8s %10s %10s %10s %12s\n", "contender", "pair/1", "pair/2", "pair/8",
              "busy/16", "busy/1000", "busy/10000", "hand-over p99");
  lido.print();
  bare.print();
  condition.print();
#if LIDO_BENCH_TBB
  tbb.print();
  print_ratios(lido, bare, condition, tbb);
#else
  print_ratios(lido, bare, condition);
#endif
  return EXIT_SUCCESS;
}
