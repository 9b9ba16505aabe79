/// @file
/// Counts read-modify-writes of shared cache lines per operation, on a Lido compiled to count them.
///
/// On many cores each of them moves a cache line; their number predicts what two cores cannot show.
#include <cstdio>
#include <cstdlib>
#include <lido/concurrency/atomic.hpp>

#include "contenders/lido_default.hpp"
#include "run_workload.hpp"

namespace {

using namespace std::string_view_literals;

constexpr double limit{1.0 / 16};
constexpr std::uint64_t operations_per_thread{1U << 20U};

/// Runs one workload; returns true if it stays within the limit.
template <typename Workload>
bool count(unsigned threads) {
  const std::uint64_t iterations{operations_per_thread / Workload::operations};
  const std::uint64_t before{lido_bench::shared_rmw_count.load()};
  const lido_bench::team_result result{
      lido_bench::run_workload<Workload, lido_bench::lido_default<64>>(threads, iterations)};
  // All threads have ended. Warm-up and thread exit are included: against the pool, never in its
  // favour.
  const std::uint64_t counted{lido_bench::shared_rmw_count.load() - before};
  const double operations{static_cast<double>(iterations) * Workload::operations * threads};
  const double share{static_cast<double>(counted) / operations};
  const bool passed{!result.starved && share <= limit};
  std::printf("%-16.*s %8u %14.6f   %s\n", static_cast<int>(Workload::name.size()),
              Workload::name.data(), threads, share, passed ? "ok" : "EXCEEDED");
  return passed;
}

template <typename Workload>
bool count_all(std::initializer_list<unsigned> thread_counts) {
  bool passed{true};
  for (const unsigned threads : thread_counts) {
    passed = count<Workload>(threads) && passed;
  }
  return passed;
}

}  // namespace

int main() {
  std::printf("Shared read-modify-writes per operation, at most %.4f\n", limit);
  std::printf("%-16s %8s %14s\n", "workload", "threads", "per operation");
  bool passed{count_all<lido_bench::pair>({1, 2, 8})};
  passed = count_all<lido_bench::burst>({1, 2, 8}) && passed;
  passed = count_all<lido_bench::churn>({1, 2, 8}) && passed;
  passed = count_all<lido_bench::handoff>({2, 8}) && passed;
  passed = count_all<lido_bench::near_exhaustion>({1, 2, 8}) && passed;
  passed = count_all<lido_bench::thread_churn>({1, 2, 8}) && passed;
  return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
