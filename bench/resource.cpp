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
constexpr int rounds = 5;

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

/// Nanoseconds of wall time for each use, of all threads together.
template <class Pool, class Use>
double time_per_use(unsigned threads, std::chrono::milliseconds length, const Use& use) {
  Pool pool(resources);
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> uses{0};
  std::latch ready(threads + 1);
  std::vector<std::thread> team;
  team.reserve(threads);
  for (unsigned i = 0; i < threads; ++i) {
    team.emplace_back([&] {
      ready.arrive_and_wait();
      std::uint64_t mine = 0;
      while (!over.load(std::memory_order_relaxed)) {
        for (int step = 0; step < 16; ++step, ++mine) {
          pool.with_one(use);
        }
      }
      uses += mine;
    });
  }
  ready.arrive_and_wait();
  const auto begin = bench_clock::now();
  std::this_thread::sleep_for(length);
  over = true;
  for (std::thread& thread : team) {
    thread.join();
  }
  const auto wall = std::chrono::duration<double, std::nano>(bench_clock::now() - begin).count();
  return wall / static_cast<double>(uses.load());
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

template <class Pool>
struct runner {
  result pairs[3], contended, thousand, ten_thousand, latency;

  void round(std::chrono::milliseconds length, bool all) {
    const unsigned threads[] = {1, 2, 8};
    for (int i = 0; i < 3; ++i) {
      pairs[i].values.push_back(time_per_use<Pool>(threads[i], length, touch));
    }
    contended.values.push_back(time_per_use<Pool>(16, length, query));
    thousand.values.push_back(time_per_use<Pool>(1000, length, query));
    if (all && Pool::sleeps) {  // ten thousand threads that yield would measure the scheduler
      ten_thousand.values.push_back(time_per_use<Pool>(10'000, length, query));
    } else {
      ten_thousand.values.push_back(0);
    }
    latency.values.push_back(hand_over_latency<Pool>(200));
  }

  void print() {
    std::printf("%-18s %8.1f %8.1f %8.1f %10.0f %10.0f %10.0f %12.0f\n", Pool::name.data(),
                pairs[0].median(), pairs[1].median(), pairs[2].median(), contended.median(),
                thousand.median(), ten_thousand.median(), latency.median());
  }
};

}  // namespace

int main(int argc, char** argv) {
  const bool is_short = argc > 1 && std::string(argv[1]) == "--short";
  const auto length = is_short ? 20ms : 300ms;
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
  for (int round = 0; round < (is_short ? 1 : rounds); ++round) {
    lido.round(length, !is_short);
    bare.round(length, !is_short);
    condition.round(length, !is_short);
#if LIDO_BENCH_TBB
    tbb.round(length, !is_short);
#endif
  }
  std::printf(
      "%zu resources; wall time of all threads for one use, nanoseconds; medians of %d\n"
      "pair: nothing is done with a resource; busy: two microseconds of work; 0: not measured\n",
      resources, is_short ? 1 : rounds);
  std::printf("%-18s %8s %8s %8s %10s %10s %10s %12s\n", "contender", "pair/1", "pair/2", "pair/8",
              "busy/16", "busy/1000", "busy/10000", "hand-over p99");
  lido.print();
  bare.print();
  condition.print();
#if LIDO_BENCH_TBB
  tbb.print();
#endif
  return EXIT_SUCCESS;
}
