/// @file
/// Compares resource pools: an idle resource, more threads than resources, hand-over, thousands of
/// waiting threads. One line for each measurement; contenders take turns in every round.
#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "contenders.hpp"
#include "crowd.hpp"
#include "team.hpp"

namespace {

using namespace std::chrono_literals;
using lido_bench::bench_clock;
using lido_bench::query;
using lido_bench::resources;
using lido_bench::result;
using lido_bench::stub_connection;
using lido_bench::time_per_use;
using lido_bench::touch;

/// Restricts the calling thread to one processor.
void stay_on(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(processor), &one);
  (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

/// Nanoseconds of one contender's hand-overs, over all rounds together: the 99th percentile varies
/// more from round to round than between contenders.
struct latencies {
  std::vector<std::vector<double>> rounds;
  void add_round(std::vector<double> round) { rounds.push_back(std::move(round)); }
  /// Returns the percentile over these rounds, whose numbers may repeat.
  [[nodiscard]] double percentile(std::size_t which, const std::vector<std::size_t>& of) const {
    std::vector<double> all;
    for (const std::size_t round : of) {
      all.insert(all.end(), rounds[round].begin(), rounds[round].end());
    }
    if (all.empty()) {
      return 0;
    }
    const auto found = all.begin() + static_cast<std::ptrdiff_t>(all.size() * which / 100);
    std::nth_element(all.begin(), found, all.end());
    return *found;
  }
  [[nodiscard]] std::vector<std::size_t> all_rounds() const {
    std::vector<std::size_t> all(rounds.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  [[nodiscard]] double half() const { return percentile(50, all_rounds()); }
  [[nodiscard]] double most() const { return percentile(99, all_rounds()); }
};

/// The ratio of two contenders' 99th percentiles of hand-overs, and its interval with a certainty
/// of 95 %: the bootstrap over rounds, in which all took turns (Efron, 1979).
struct beside {
  double ratio, low, high;
  beside(const latencies& one, const latencies& other) : ratio(one.most() / other.most()) {
    constexpr std::size_t draws = 400;
    std::mt19937 random;
    std::uniform_int_distribution<std::size_t> any(0, one.rounds.size() - 1);
    std::vector<double> drawn;
    for (std::size_t i = 0; i < draws; ++i) {
      std::vector<std::size_t> of(one.rounds.size());
      std::generate(of.begin(), of.end(), [&] { return any(random); });
      drawn.push_back(one.percentile(99, of) / other.percentile(99, of));
    }
    std::sort(drawn.begin(), drawn.end());
    low = drawn[draws / 40];
    high = drawn[draws - 1 - draws / 40];
  }
};

/// Returns nanoseconds from one thread's release of a resource until the next one, which waits on
/// `processor`, has it. Both are pinned: waking a processor takes ten times as long as switching
/// threads.
template <class Pool>
std::vector<double> hand_over_times(int samples, int processor) {
  Pool pool(1);
  std::vector<double> waits;
  waits.reserve(static_cast<std::size_t>(samples));
  std::atomic<bench_clock::time_point> given{};
  for (int i = 0; i < samples; ++i) {
    std::latch held(1);
    std::latch waiting(1);
    std::thread other([&] {
      stay_on(processor);
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
  return waits;
}

/// Measures from a thread on the first processor to one on the same, or on the last.
template <class Pool>
std::vector<double> hand_over(int samples, bool to_another) {
  cpu_set_t before;
  (void)pthread_getaffinity_np(pthread_self(), sizeof before, &before);
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<std::size_t>(i), &before)) {
      processors.push_back(i);
    }
  }
  stay_on(processors.front());
  std::vector<double> found =
      hand_over_times<Pool>(samples, to_another ? processors.back() : processors.front());
  (void)pthread_setaffinity_np(pthread_self(), sizeof before, &before);
  return found;
}

/// The parts to measure; all of them unless the command line names some.
struct plan {
  std::chrono::milliseconds length = 300ms;
  int rounds = 5;
  int samples = 2000;
  bool pairs = true;
  bool waiting = true;
  bool crowd = true;    ///< ten thousand threads
  bool sharing = true;  ///< more threads than resources, in the numbers of a busy server
  bool handing = true;
  bool small = true;  ///< many pools with few resources
};

template <class Pool>
struct runner {
  result pairs[3], brief[3], lengthy[2];
  latencies hand[2];
  static constexpr std::string_view name = Pool::name;

  void round(const plan& todo) {
    const unsigned threads[] = {1, 2, 8};
    for (int i = 0; i < 3; ++i) {
      pairs[i].values.push_back(todo.pairs ? time_per_use<Pool>(threads[i], todo.length, touch)
                                           : 0);
    }
    const auto busy = [&](bool measured, unsigned crew, const auto& use) {
      return measured ? time_per_use<Pool>(crew, todo.length, use) : 0;
    };
    brief[0].values.push_back(busy(todo.waiting, 16, query<2>));
    brief[1].values.push_back(busy(todo.waiting, 1000, query<2>));
    // Ten thousand threads that yield would measure the scheduler.
    brief[2].values.push_back(busy(todo.crowd && Pool::sleeps, 10'000, query<2>));
    lengthy[0].values.push_back(busy(todo.waiting, 16, query<20>));
    lengthy[1].values.push_back(busy(todo.waiting, 1000, query<20>));
    for (int i = 0; i < 2; ++i) {
      if (todo.handing) {
        hand[i].add_round(hand_over<Pool>(todo.samples, i == 1));
      }
    }
  }

  void print() {
    std::printf("%-18s %8.1f %8.1f %8.1f %8.0f %8.0f %8.0f %9.0f %9.0f %8.0f %8.0f %8.0f %8.0f\n",
                Pool::name.data(), pairs[0].median(), pairs[1].median(), pairs[2].median(),
                brief[0].median(), brief[1].median(), brief[2].median(), lengthy[0].median(),
                lengthy[1].median(), hand[0].half(), hand[0].most(), hand[1].half(),
                hand[1].most());
  }
};

/// Selects one part alone. Returns false if the option names none.
bool choose(const std::string& option, plan& todo) {
  todo.pairs = option == "--pairs";
  todo.waiting = option == "--waiting";
  todo.handing = option == "--handing";
  todo.sharing = option == "--sharing";
  todo.small = option == "--small";
  todo.crowd = false;
  if (todo.handing) {  // the same number in short turns, so that conditions are alike for all
    todo.rounds *= 10;
    todo.samples /= 10;
  }
  return todo.pairs || todo.waiting || todo.handing || todo.sharing || todo.small;
}

/// Returns false if there is no such option.
bool read_option(const std::string& option, plan& todo) {
  if (option == "--short") {
    todo.length = 20ms;
    todo.rounds = 1;
    todo.samples = 200;
    todo.crowd = false;
    return true;
  }
  return choose(option, todo);
}

/// Prints Lido beside a peer that sleeps: the waiter is on the releasing thread's processor (0), or
/// on another one (1).
template <class Lido, class Peer>
void print_hand_over(int i, const Lido& lido, const Peer& peer) {
  const beside found(lido.hand[i], peer.hand[i]);
  std::printf("hand-over on %s processor, beside %s: p50 %.2f, p99 %.2f",
              i == 0 ? "the same" : "another", Peer::name.data(),
              lido.hand[i].half() / peer.hand[i].half(), found.ratio);
  if (lido.hand[i].rounds.size() > 1) {
    std::printf(", 95 %% sure %.2f to %.2f", found.low, found.high);
  }
  std::puts("");
}

/// Prints the numbers with limits for the pool, as ratios of this run.
template <class Lido, class ByTick, class Floor, class Bare, class... Peer>
void print_ratios(const plan& todo, Lido& lido, ByTick& by_tick, Floor& floor, Bare& bare,
                  Peer&... peers) {
  if (todo.pairs) {
    std::printf("mutex_vector / lido: %.2f, %.2f, %.2f for pairs of 1, 2, 8 threads\n",
                bare.pairs[0].median() / lido.pairs[0].median(),
                bare.pairs[1].median() / lido.pairs[1].median(),
                bare.pairs[2].median() / lido.pairs[2].median());
  }
  const auto crowd = [](const char* name, auto& one) {
    std::printf("%s with 1000 threads: %.0f %% of its throughput with 16; %.0f %% in long uses\n",
                name, 100 * one.brief[0].median() / one.brief[1].median(),
                100 * one.lengthy[0].median() / one.lengthy[1].median());
  };
  if (todo.waiting) {
    crowd("lido", lido);
    crowd("lido_by_tick", by_tick);
    crowd("floor_in_turn", floor);
    std::printf(
        "lido / floor_in_turn: %.2f with 16 threads, %.2f with 1000; %.2f, %.2f in long uses\n",
        lido.brief[0].median() / floor.brief[0].median(),
        lido.brief[1].median() / floor.brief[1].median(),
        lido.lengthy[0].median() / floor.lengthy[0].median(),
        lido.lengthy[1].median() / floor.lengthy[1].median());
  }
  for (int i = 0; todo.handing && i < 2; ++i) {
    (print_hand_over(i, lido, peers), ...);
  }
}

constexpr lido_bench::crowd_row sharing_rows[] = {
    {"32 on 16, nothing", 32, 16, 0us}, {"32 on 4, nothing", 32, 4, 0us},
    {"8 on 4, 2 us", 8, 4, 2us},        {"32 on 16, 2 us", 32, 16, 2us},
    {"32 on 4, 20 us", 32, 4, 20us},    {"31 on 16, 100 us asleep", 31, 16, 100us, /*sleeps=*/true},
    {"8 on 1, 2 us", 8, 1, 2us},
};

/// One contender in all rows of `sharing_rows`.
template <class Pool>
struct sharer {
  std::array<lido_bench::crowd_results, std::size(sharing_rows)> rows;

  void round(const plan& todo) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].add(lido_bench::crowd_of<Pool>(sharing_rows[i], 3 * todo.length));
    }
  }
};

/// Measures more threads than resources, beside the pool of most code bases.
void share(const plan& todo) {
  sharer<lido_bench::lido_resources> lido;
  sharer<lido_bench::mutex_condition> mutex;
  lido_bench::take_turns(todo, lido, mutex);
  std::printf(
      "threads on resources, and what a use does; thousands of uses a second, medians; p50 and "
      "p99\n"
      "of one acquire beside them, milliseconds; spread: uses of the thread that had most, beside\n"
      "the one that had least; each of lido and of mutex_deque_cv\n"
      "%-24s %15s %6s %17s %17s %15s\n",
      "row", "uses", "ratio", "p50", "p99", "spread");
  for (std::size_t i = 0; i < std::size(sharing_rows); ++i) {
    auto& [ours, ours_spread, our_waits] = lido.rows[i];
    auto& [theirs, their_spread, their_waits] = mutex.rows[i];
    std::printf("%-24s %7.0f %7.0f %6.2f %8.2f %8.2f %8.2f %8.2f %7.1f %7.1f\n",
                sharing_rows[i].name.data(), ours.median() / 1e3, theirs.median() / 1e3,
                ours.median() / theirs.median(), lido.rows[i].wait(50), mutex.rows[i].wait(50),
                lido.rows[i].wait(99), mutex.rows[i].wait(99), ours_spread.median(),
                their_spread.median());
  }
}

template <class... Contender>
void compare(const plan& todo, Contender... contenders) {
  lido_bench::take_turns(todo, contenders...);
  std::printf(
      "%zu resources; wall time of all threads for one use, nanoseconds; medians of %d\n"
      "pair: nothing is done with a resource; 2us, 20us: so much work is; 0: not measured\n"
      "same, other: p50 and p99 of all hand-overs to a thread on that processor\n"
      "%-18s %8s %8s %8s %8s %8s %8s %9s %9s %8s %8s %8s %8s\n",
      resources, todo.rounds, "contender", "pair/1", "pair/2", "pair/8", "2us/16", "2us/1000",
      "2us/1e4", "20us/16", "20us/1000", "same/p50", "p99", "oth/p50", "p99");
  (contenders.print(), ...);
  print_ratios(todo, contenders...);
}

/// Returns microseconds for each of a hundred pools of four that are made, used once and destroyed.
template <class Pool>
double time_of_small_pool() {
  constexpr int count = 100;
  const auto begin = bench_clock::now();
  std::vector<std::unique_ptr<Pool>> pools;
  for (int i = 0; i < count; ++i) {
    pools.push_back(std::make_unique<Pool>());
    pools.back()->with_one(touch);
  }
  pools.clear();
  return std::chrono::duration<double, std::micro>(bench_clock::now() - begin).count() / count;
}

/// Returns the heap bytes of a pool of four that is idle after one use, as one of a hundred.
template <class Pool>
double bytes_of_small_pool() {
  const auto used = [] { return static_cast<double>(::mallinfo2().uordblks); };
  std::array<std::unique_ptr<Pool>, 100> pools;
  const double before = used();
  for (auto& pool : pools) {
    pool = std::make_unique<Pool>();
    pool->with_one(touch);
  }
  return (used() - before) / static_cast<double>(pools.size());
}

void make_small_pools(const plan& todo) {
  result lido;
  result by_tick;
  result mutex;
  for (int round = 0; round < 10 * todo.rounds; ++round) {
    lido.values.push_back(time_of_small_pool<lido_bench::lido_small<>>());
    by_tick.values.push_back(time_of_small_pool<lido_bench::lido_small<true>>());
    mutex.values.push_back(time_of_small_pool<lido_bench::mutex_small>());
  }
  std::printf(
      "a pool of 4 made, used once, destroyed: lido %.1f us, by tick %.1f us, mutex_deque_cv %.2f "
      "us\n",
      lido.median(), by_tick.median(), mutex.median());
  std::printf("lido / mutex_deque_cv: %.1f for small pools\n", lido.median() / mutex.median());
  std::printf("heap bytes of one, idle after its use: lido %.0f, mutex_deque_cv %.0f\n",
              bytes_of_small_pool<lido_bench::lido_small<>>(),
              bytes_of_small_pool<lido_bench::mutex_small>());
}

}  // namespace

int main(int argc, char** argv) {
  plan todo;
  for (int i = 1; i < argc; ++i) {
    if (!read_option(argv[i], todo)) {
      std::fprintf(stderr,
                   "usage: %s [--pairs | --waiting | --handing | --sharing | --small] [--short]\n",
                   argv[0]);
      return EXIT_FAILURE;
    }
  }
  lido_bench::use_small_stacks();  // for ten thousand threads
  if (todo.sharing) {
    share(todo);
  }
  if (todo.small) {
    make_small_pools(todo);
  }
  if (!todo.pairs && !todo.waiting && !todo.handing) {
    return EXIT_SUCCESS;
  }
  compare(todo, runner<lido_bench::lido_resources>(), runner<lido_bench::lido_by_tick>(),
          runner<lido_bench::numbers_in_turn>(), runner<lido_bench::bare_mutex>(),
#if LIDO_BENCH_TBB
          runner<lido_bench::tbb_bounded>(),
#endif
          runner<lido_bench::mutex_condition>());
  return EXIT_SUCCESS;
}
