/// @file
/// Measures the time from a release to the moment when the thread that waited for it continues:
/// Lido with when_full::wait beside vectors under a mutex with condition variables.
///
/// There are more threads than objects. A thread writes the time into its object just before it
/// releases it. The next holder reads that time if it was already waiting then. Besides these
/// hand-offs the bench measures the whole time of every acquire.
///
/// Like Lido, mutex_in_turn gives a released object to the thread that has waited longest. The
/// usual first version is mutex_barging: a release wakes one waiter, and any other thread may take
/// the object first. Its hand-offs are those of releases for which the woken thread came first. The
/// releases that this thread missed before show in its acquires: a short median and a long tail.
#include <lido/object_pool.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "team.hpp"

namespace {

using lido_bench::bench_clock;

constexpr auto work_time = std::chrono::microseconds(2);
constexpr auto think_time = std::chrono::microseconds(2);

/// An object that records its latest release.
struct stamped {
  bench_clock::rep released;
};

class lido_block {
 public:
  static constexpr std::string_view name{"lido_block"};
  explicit lido_block(std::size_t capacity)
      : pool_{{.capacity = capacity, .when_full = lido::when_full::wait}} {}
  // The stamp must survive although its object is destroyed and constructed.
  stamped* acquire() {
    stamped* object{pool_.acquire(lido::default_init).detach()};
    asm volatile("" : "+r"(object) : : "memory");  // NOLINT(hicpp-no-assembler)
    return object;
  }
  void release(stamped* object) {
    asm volatile("" : : "r"(object) : "memory");  // NOLINT(hicpp-no-assembler)
    pool_.release(object);
  }

 private:
  lido::object_pool<stamped> pool_;
};

class mutex_barging {
 public:
  static constexpr std::string_view name{"mutex_barging"};
  explicit mutex_barging(std::size_t capacity) : objects_(capacity) {
    for (stamped& object : objects_) {
      free_.push_back(&object);
    }
  }
  stamped* acquire() {
    std::unique_lock lock{mutex_};
    freed_.wait(lock, [this] { return !free_.empty(); });
    stamped* const object{free_.back()};
    free_.pop_back();
    return object;
  }
  void release(stamped* object) {
    {
      const std::lock_guard lock{mutex_};
      free_.push_back(object);
    }
    freed_.notify_one();
  }

 private:
  std::vector<stamped> objects_;
  std::vector<stamped*> free_;
  std::mutex mutex_;
  std::condition_variable freed_;
};

class mutex_in_turn {
 public:
  static constexpr std::string_view name{"mutex_in_turn"};
  explicit mutex_in_turn(std::size_t capacity) : objects_(capacity) {
    for (stamped& object : objects_) {
      free_.push_back(&object);
    }
  }
  stamped* acquire() {
    std::unique_lock lock{mutex_};
    if (!free_.empty()) {  // then no thread waits
      stamped* const object{free_.back()};
      free_.pop_back();
      return object;
    }
    turn mine;
    turns_.push_back(&mine);
    mine.come.wait(lock, [&mine] { return mine.given != nullptr; });
    return mine.given;
  }
  void release(stamped* object) {
    const std::lock_guard lock{mutex_};
    if (turns_.empty()) {
      free_.push_back(object);
      return;
    }
    turn& first{*turns_.front()};
    turns_.pop_front();
    first.given = object;
    first.come.notify_one();  // locked: its owner may destroy it as soon as it has the object
  }

 private:
  struct turn {
    stamped* given{nullptr};
    std::condition_variable come;
  };

  std::vector<stamped> objects_;
  std::vector<stamped*> free_;
  std::deque<turn*> turns_;
  std::mutex mutex_;
};

struct samples {
  std::vector<bench_clock::rep> handoffs;
  std::vector<bench_clock::rep> acquires;
};

void spin_for(bench_clock::duration time) {
  const auto end = bench_clock::now() + time;
  while (bench_clock::now() < end) {
    lido_bench::spin_pause();
  }
}

template <typename Pool>
void use(Pool& pool, std::uint64_t rounds, samples& found) {
  for (std::uint64_t round{0}; round < rounds; ++round) {
    const auto begin = bench_clock::now().time_since_epoch().count();
    stamped* const object{pool.acquire()};
    const auto end = bench_clock::now().time_since_epoch().count();
    found.acquires.push_back(end - begin);
    if (object->released > begin) {
      found.handoffs.push_back(end - object->released);
    }
    spin_for(work_time);
    object->released = bench_clock::now().time_since_epoch().count();
    pool.release(object);
    spin_for(think_time);
  }
}

long long at(const std::vector<bench_clock::rep>& sorted, double share) {
  if (sorted.empty()) {
    return 0;
  }
  const auto last = static_cast<double>(sorted.size() - 1);
  return static_cast<long long>(sorted[static_cast<std::size_t>(share * last)]);
}

/// Times of one contender in all runs of one shape. The runs of the contenders take turns, so that
/// other work on the machine affects all of them.
struct tally {
  std::vector<bench_clock::rep> all;
  std::vector<bench_clock::rep> p50;  ///< median of each run
  std::vector<bench_clock::rep> p99;  ///< 99th percentile of each run

  void add(std::vector<bench_clock::rep> run) {
    std::sort(run.begin(), run.end());
    p50.push_back(at(run, 0.5));
    p99.push_back(at(run, 0.99));
    all.insert(all.end(), run.begin(), run.end());
  }

  void print(std::string_view pool, const char* what, unsigned threads, std::size_t capacity) {
    for (auto* values : {&all, &p50, &p99}) {
      std::sort(values->begin(), values->end());
    }
    std::printf(
        "%-16.*s %-9s %8u %8zu %9zu %9lld %9lld %9lld %11lld  %7lld %7lld %7lld  %8lld %8lld "
        "%8lld\n",
        static_cast<int>(pool.size()), pool.data(), what, threads, capacity, all.size(),
        at(all, 0.5), at(all, 0.99), at(all, 0.999), at(all, 1.0), at(p50, 0.0), at(p50, 0.5),
        at(p50, 1.0), at(p99, 0.0), at(p99, 0.5), at(p99, 1.0));
  }
};

template <typename Pool>
class contest {
 public:
  void run(unsigned threads, std::size_t capacity, std::uint64_t rounds) {
    Pool pool{capacity};
    std::vector<stamped*> all_objects;
    for (std::size_t i{0}; i < capacity; ++i) {  // nothing has been released yet
      all_objects.push_back(pool.acquire());
      all_objects.back()->released = 0;
    }
    for (stamped* const object : all_objects) {
      pool.release(object);
    }
    std::vector<samples> of_threads(threads);
    for (samples& mine : of_threads) {
      mine.handoffs.reserve(rounds);
      mine.acquires.reserve(rounds);
    }
    lido_bench::run_team(threads, 0, 0, [&](lido_bench::lane& self) {
      self.enter_phase();
      self.enter_phase();
      use(pool, rounds, of_threads[self.index()]);
      self.stop();
    });
    samples found;
    for (const samples& mine : of_threads) {
      found.handoffs.insert(found.handoffs.end(), mine.handoffs.begin(), mine.handoffs.end());
      found.acquires.insert(found.acquires.end(), mine.acquires.begin(), mine.acquires.end());
    }
    handoffs_.add(std::move(found.handoffs));
    acquires_.add(std::move(found.acquires));
  }

  void print(unsigned threads, std::size_t capacity) {
    handoffs_.print(Pool::name, "hand-off", threads, capacity);
    acquires_.print(Pool::name, "acquire", threads, capacity);
  }

 private:
  tally handoffs_;
  tally acquires_;
};

void measure(unsigned threads, std::size_t capacity, std::uint64_t rounds, unsigned runs) {
  contest<mutex_barging> barging;
  contest<mutex_in_turn> in_turn;
  contest<lido_block> lido;
  for (unsigned run{0}; run < runs; ++run) {
    barging.run(threads, capacity, rounds);
    in_turn.run(threads, capacity, rounds);
    lido.run(threads, capacity, rounds);
  }
  barging.print(threads, capacity);
  in_turn.print(threads, capacity);
  lido.print(threads, capacity);
}

}  // namespace

// usage: lido_bench_waiting [acquires of all threads in a run [runs]]
int main(int argc, char** argv) {
  const std::uint64_t rounds{argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000};
  const auto runs = static_cast<unsigned>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 7);
  std::printf("Blocked acquires, nanoseconds; the object is held and left alone for 2000 each\n");
  std::printf("Of each run, the lowest, the median and the highest of %u:\n", runs);
  std::printf("%-16s %-9s %8s %8s %9s %9s %9s %9s %11s  %7s %7s %7s  %8s %8s %8s\n", "contender",
              "of", "threads", "capacity", "samples", "p50", "p99", "p99.9", "max", "p50", "p50",
              "p50", "p99", "p99", "p99");
  struct shape {
    unsigned threads;
    std::size_t capacity;
  };
  for (const auto [threads, capacity] : {shape{2, 1}, shape{4, 1}, shape{8, 2}, shape{32, 16}}) {
    measure(threads, capacity, rounds / threads, runs);
  }
  return EXIT_SUCCESS;
}
