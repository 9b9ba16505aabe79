/// @file
/// How long one single acquire takes, in percentiles: beside an average there must be no long tail.
///
/// Each thread holds a changing number of objects, so that caches run empty and full, and reads the
/// clock around every acquire. What the clock itself takes is measured first and subtracted.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "contenders/glibc_malloc.hpp"
#include "contenders/lido_default.hpp"
#include "contenders/mutex_vector.hpp"
#include "run_workload.hpp"

namespace {

using lido_bench::bench_clock;

constexpr std::size_t samples_per_thread{std::size_t{1} << 19U};
constexpr std::size_t most_held{512};

/// The shortest distance of two readings: what a reading adds to every sample.
std::int64_t clock_cost() {
  std::int64_t shortest{1000};
  for (int i{0}; i < 10000; ++i) {
    const auto first = bench_clock::now();
    const auto second = bench_clock::now();
    shortest = std::min<std::int64_t>(shortest, (second - first).count());
  }
  return shortest;
}

/// Fills `samples` with nanoseconds of single acquires.
template <typename Pool>
void sample(Pool& pool, lido_bench::lane& self, std::vector<std::int64_t>& samples) {
  typename Pool::session session{pool};
  std::vector<void*> held;
  held.reserve(most_held);
  std::uint64_t random{self.index() + 1};
  self.enter_phase();
  self.enter_phase();
  while (samples.size() < samples_per_thread) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const std::size_t wanted{random >> 55U};  // 0 to 511
    while (held.size() < wanted && samples.size() < samples_per_thread) {
      const auto begin = bench_clock::now();
      held.push_back(lido_bench::take<Pool>(session, self));
      samples.push_back((bench_clock::now() - begin).count());
    }
    while (held.size() > wanted) {
      lido_bench::give(session, held.back());
      held.pop_back();
    }
  }
  lido_bench::give_all(session, held);
  self.stop();
}

template <typename Pool>
void measure(unsigned threads, std::int64_t overhead) {
  Pool pool{lido_bench::sizing_for<lido_bench::burst>(threads)};
  std::vector<std::vector<std::int64_t>> samples(threads);
  for (auto& of_thread : samples) {
    of_thread.reserve(samples_per_thread);
  }
  lido_bench::run_team(threads, 0, 0,
                       [&](lido_bench::lane& self) { sample(pool, self, samples[self.index()]); });
  std::vector<std::int64_t> all;
  for (const auto& of_thread : samples) {
    all.insert(all.end(), of_thread.begin(), of_thread.end());
  }
  std::sort(all.begin(), all.end());
  const auto at = [&](double share) {
    const auto rank = static_cast<std::size_t>(share * static_cast<double>(all.size() - 1));
    return static_cast<long long>(std::max<std::int64_t>(0, all[rank] - overhead));
  };
  std::printf("%-14.*s %8u %8lld %8lld %8lld %8lld %10lld\n", static_cast<int>(Pool::name.size()),
              Pool::name.data(), threads, at(0.5), at(0.99), at(0.999), at(0.9999), at(1.0));
}

}  // namespace

int main() {
  const std::int64_t overhead{clock_cost()};
  std::printf("One acquire of 64 bytes, nanoseconds; %lld subtracted for the clock\n",
              static_cast<long long>(overhead));
  std::printf("%-14s %8s %8s %8s %8s %8s %10s\n", "contender", "threads", "p50", "p99", "p99.9",
              "p99.99", "max");
  for (const unsigned threads : {1U, 2U, 8U}) {
    measure<lido_bench::lido_default<64>>(threads, overhead);
    measure<lido_bench::glibc_malloc<64>>(threads, overhead);
    measure<lido_bench::mutex_vector<64>>(threads, overhead);
  }
  return EXIT_SUCCESS;
}
