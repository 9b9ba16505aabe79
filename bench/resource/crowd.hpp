/// @file
/// More threads than resources: how many uses a second, how long one acquire beside them takes, and
/// how evenly the threads are served.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <thread>
#include <vector>

#include "team.hpp"

namespace lido_bench {

struct crowd_row {
  std::string_view name;
  unsigned threads;
  std::size_t resources;
  std::chrono::nanoseconds use;  ///< how long a thread keeps its resource
  bool sleeps = false;           ///< whether it sleeps during that time, as for an answer
};

/// Results of one turn of a contender.
struct crowd_turn {
  double uses = 0;            ///< uses a second, of all threads
  std::vector<double> waits;  ///< milliseconds of a thread that acquires every 3 ms
  double spread = 0;          ///< ratio of the uses of the busiest and the idlest thread
};

inline void keep(const crowd_row& row) {
  if (row.sleeps) {
    std::this_thread::sleep_for(row.use);
    return;
  }
  for (const auto end = bench_clock::now() + row.use;
       row.use.count() != 0 && bench_clock::now() < end;) {
  }
}

/// Lets `threads` threads call `use` again and again, and one more call `probe` every 3 ms, which
/// returns milliseconds.
template <class Use, class Probe>
crowd_turn crowd(unsigned threads, std::chrono::milliseconds length, const Use& use,
                 const Probe& probe) {
  std::atomic<bool> over{false};
  std::vector<counter> counters(threads);
  std::vector<std::jthread> team;
  for (counter& mine : counters) {
    team.emplace_back([&] {
      for (std::uint64_t uses = 0; !over.load(std::memory_order_relaxed);) {
        use();
        mine.uses.store(++uses, std::memory_order_relaxed);
      }
    });
  }
  std::this_thread::sleep_for(length / 10);
  crowd_turn found;
  const std::uint64_t before = sum_of(counters);
  const auto begin = bench_clock::now();
  while (bench_clock::now() - begin < length) {
    found.waits.push_back(probe());
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  const double seconds = std::chrono::duration<double>(bench_clock::now() - begin).count();
  found.uses = static_cast<double>(sum_of(counters) - before) / seconds;
  over = true;
  team.clear();
  const auto [least, most] = std::minmax_element(
      counters.begin(), counters.end(),
      [](const counter& one, const counter& other) { return one.uses < other.uses; });
  found.spread = static_cast<double>(most->uses.load()) /
                 static_cast<double>(std::max<std::uint64_t>(least->uses.load(), 1));
  return found;
}

/// Results of one contender in one row.
struct crowd_results {
  result uses, spread;
  std::vector<double> waits;

  void add(crowd_turn turn) {
    uses.values.push_back(turn.uses);
    spread.values.push_back(turn.spread);
    waits.insert(waits.end(), turn.waits.begin(), turn.waits.end());
  }
  [[nodiscard]] double wait(std::size_t percent) {
    if (waits.empty()) {
      return 0;
    }
    const auto at = waits.begin() + static_cast<std::ptrdiff_t>(waits.size() * percent / 100);
    std::nth_element(waits.begin(), at, waits.end());
    return *at;
  }
};

inline double milliseconds_since(bench_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(bench_clock::now() - begin).count();
}

/// Runs one turn of a pool of stub connections: the probe's time is that of its acquire.
template <class Pool>
crowd_turn crowd_of(const crowd_row& row, std::chrono::milliseconds length) {
  Pool pool(row.resources);
  const auto use = [&] {
    pool.with_one([&](stub_connection& one) {
      keep(row);
      touch(one);
    });
  };
  const auto probe = [&] {
    const auto asked = bench_clock::now();
    double took = 0;
    pool.with_one([&](stub_connection& /*one*/) { took = milliseconds_since(asked); });
    return took;
  };
  return crowd(row.threads, length, use, probe);
}

}  // namespace lido_bench
