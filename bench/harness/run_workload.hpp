/// @file
/// One workload on one new pool with one team.
#pragma once

#include <vector>

#include "contender.hpp"
#include "workloads/burst.hpp"
#include "workloads/churn.hpp"
#include "workloads/handoff.hpp"
#include "workloads/moving.hpp"
#include "workloads/near_exhaustion.hpp"
#include "workloads/pair.hpp"
#include "workloads/thread_churn.hpp"

namespace lido_bench {

/// Returns a size that suffices for what the threads hold, the rings and every cache of every peer,
/// except where scarcity is the point.
template <typename Workload>
sizing sizing_for(unsigned threads) {
  if constexpr (std::same_as<Workload, near_exhaustion>) {
    return {.capacity = threads * near_exhaustion::held_count, .threads = threads};
  } else if constexpr (std::same_as<Workload, moving>) {
    return {.capacity = moving::capacity(threads), .threads = threads};
  } else {
    return {.capacity = threads * std::size_t{1024} + 4096, .threads = threads};
  }
}

/// Releases the objects that an aborted team leaves in the rings.
template <contender Pool>
void drain(Pool& pool, std::span<handoff::ring> rings) {
  typename Pool::session session{pool};
  for (handoff::ring& ring : rings) {
    ring.consume_all([&](void* object) { session.release(object); });
  }
}

/// Runs the handoff, which needs rings besides the pool.
template <contender Pool>
team_result run_handoff(Pool& pool, unsigned threads, std::uint64_t iterations) {
  std::vector<handoff::ring> rings(threads / 2);
  const team_result result{run_team(threads, handoff::warm_up, iterations,
                                    [&](lane& self) { handoff::run(pool, rings, self); })};
  if (result.starved) {
    drain(pool, rings);
  }
  return result;
}

template <contender Pool>
team_result run_moving(Pool& pool, unsigned threads, std::uint64_t iterations) {
  moving::budget objects{threads};
  return run_team(threads, moving::warm_up, iterations,
                  [&](lane& self) { moving::run(pool, objects, self); });
}

template <typename Workload, contender Pool>
team_result run_workload(unsigned threads, std::uint64_t iterations) {
  Pool pool{sizing_for<Workload>(threads)};
  if constexpr (std::same_as<Workload, handoff>) {
    return run_handoff(pool, threads, iterations);
  } else if constexpr (std::same_as<Workload, moving>) {
    return run_moving(pool, threads, iterations);
  } else {
    return run_team(threads, Workload::warm_up, iterations,
                    [&](lane& self) { Workload::run(pool, self); });
  }
}

/// Returns the time of one core for one operation, in nanoseconds. With more threads than cores the
/// wall time of an operation contains the time its thread was not scheduled; this does not.
template <typename Workload>
double nanoseconds_per_operation(const team_result& result, unsigned threads,
                                 std::uint64_t iterations) {
  const double operations{static_cast<double>(iterations) * Workload::operations * threads};
  return result.seconds * 1e9 * std::min(threads, cores()) / operations;
}

}  // namespace lido_bench
