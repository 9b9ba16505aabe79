/// @file
/// How long it takes from a release to the moment when a thread that waited for it goes on: Lido
/// with policy::block beside a vector under a mutex with a condition variable.
///
/// More threads than objects. Who is about to release writes the time into the object; who was
/// already waiting then and gets the object reads it. Beside that hand-off, the whole time of every
/// acquire: a pool that lets new arrivals overtake those who wait has a short median there and a
/// long tail.
#include <lido/object_pool.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <vector>

#include "team.hpp"

namespace {

using lido_bench::bench_clock;

constexpr auto work_time = std::chrono::microseconds(2);
constexpr auto think_time = std::chrono::microseconds(2);

/// An object that says when it was released last.
struct stamped {
  bench_clock::rep released;
};

class lido_block {
 public:
  static constexpr std::string_view name{"lido_block"};
  explicit lido_block(std::size_t capacity) : pool_{capacity} {}
  // The stamp must survive although the object it is in ends and begins.
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
  lido::object_pool<stamped, lido::policy::block> pool_;
};

class mutex_condition {
 public:
  static constexpr std::string_view name{"mutex_condition"};
  explicit mutex_condition(std::size_t capacity) : objects_(capacity) {
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

void print(std::string_view pool, std::string_view what, unsigned threads, std::size_t capacity,
           std::vector<bench_clock::rep>& all) {
  std::sort(all.begin(), all.end());
  const auto at = [&](double share) {
    return all.empty()
               ? 0LL
               : static_cast<long long>(
                     all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))]);
  };
  std::printf("%-16.*s %-9.*s %8u %8zu %9zu %9lld %9lld %9lld %11lld\n",
              static_cast<int>(pool.size()), pool.data(), static_cast<int>(what.size()),
              what.data(), threads, capacity, all.size(), at(0.5), at(0.99), at(0.999), at(1.0));
}

template <typename Pool>
void measure(unsigned threads, std::size_t capacity, std::uint64_t rounds) {
  Pool pool{capacity};
  for (std::size_t i{0}; i < capacity; ++i) {  // nothing has been released yet
    stamped* const object{pool.acquire()};
    object->released = 0;
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
  samples all;
  for (const samples& mine : of_threads) {
    all.handoffs.insert(all.handoffs.end(), mine.handoffs.begin(), mine.handoffs.end());
    all.acquires.insert(all.acquires.end(), mine.acquires.begin(), mine.acquires.end());
  }
  print(Pool::name, "hand-off", threads, capacity, all.handoffs);
  print(Pool::name, "acquire", threads, capacity, all.acquires);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t rounds{argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000};
  std::printf("Blocked acquires, nanoseconds; the object is held and left alone for 2000 each\n");
  std::printf("%-16s %-9s %8s %8s %9s %9s %9s %9s %11s\n", "contender", "of", "threads", "capacity",
              "samples", "p50", "p99", "p99.9", "max");
  struct shape {
    unsigned threads;
    std::size_t capacity;
  };
  for (const auto [threads, capacity] : {shape{2, 1}, shape{4, 1}, shape{8, 2}, shape{32, 16}}) {
    measure<mutex_condition>(threads, capacity, rounds / threads);
    measure<lido_block>(threads, capacity, rounds / threads);
  }
  return EXIT_SUCCESS;
}
