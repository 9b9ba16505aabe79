/// @file
/// `memory`: resident bytes of an acquired object, and of a small pool that no thread has used.
#pragma once

#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "run_workload.hpp"

namespace lido_bench {

namespace detail {

constexpr std::size_t objects_out{32768};
constexpr std::size_t small_pools{64};
constexpr std::size_t small_capacity{64};

inline double resident_bytes() {
  std::ifstream statm{"/proc/self/statm"};
  double all{0};
  double resident{0};
  statm >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace detail

/// Returns the resident bytes that `count` objects add while one thread holds them all, or -1 if it
/// does not get them.
template <contender Pool>
double bytes_of_objects(std::size_t count) {
  std::vector<void*> held(count);
  malloc_trim(0);
  const double before{detail::resident_bytes()};
  double bytes{0};
  Pool pool{sizing{count, 1}};
  const team_result result{run_team(1, 0, 0, [&](lane& self) {
    typename Pool::session session{pool};
    self.enter_phase();
    self.enter_phase();
    take_all<Pool>(session, self, held);
    for (void* const object : held) {
      std::memset(object, 1, 64);  // as in a program that uses them
    }
    bytes = detail::resident_bytes() - before;
    give_all(session, held);
    self.stop();
  })};
  return result.starved ? -1 : bytes;
}

template <contender Pool>
double bytes_of_unused_pools() {
  std::vector<std::unique_ptr<Pool>> pools(detail::small_pools);
  malloc_trim(0);
  const double before{detail::resident_bytes()};
  for (auto& pool : pools) {
    pool = std::make_unique<Pool>(sizing{detail::small_capacity, 1});
  }
  return detail::resident_bytes() - before;
}

template <contender Pool>
void run_memory(benchmark::State& state) {
  for (auto _ : state) {
    bytes_of_objects<Pool>(detail::small_capacity);  // what a library allocates once is not counted
    const double bytes{bytes_of_objects<Pool>(detail::objects_out)};
    if (bytes < 0) {
      state.SkipWithError("starved");
      return;
    }
    state.counters["bytes_per_object"] = bytes / detail::objects_out;
    state.counters["bytes_per_pool"] = bytes_of_unused_pools<Pool>() / detail::small_pools;
  }
}

}  // namespace lido_bench
