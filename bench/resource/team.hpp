/// @file
/// Threads that use a pool of resources together, and the time that a use takes them.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <random>
#include <thread>
#include <vector>

#include "contenders.hpp"

namespace lido_bench {

constexpr std::size_t resources = 8;

struct result {
  std::vector<double> values;
  [[nodiscard]] double median() {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
};

inline void touch(stub_connection& connection) {
  ++connection.queries;
  asm volatile("" : : "r"(&connection) : "memory");
}

/// Keeps a resource, and a processor, for that many microseconds, so that others have to wait.
template <int Microseconds>
void query(stub_connection& connection) {
  const auto end = bench_clock::now() + std::chrono::microseconds(Microseconds);
  while (bench_clock::now() < end) {
  }
  touch(connection);
}

/// Uses that one thread has counted so far; read while it counts.
struct alignas(128) counter {
  std::atomic<std::uint64_t> uses{0};
};

inline std::uint64_t sum_of(const std::vector<counter>& counters) {
  std::uint64_t sum = 0;
  for (const counter& one : counters) {
    sum += one.uses.load(std::memory_order_relaxed);
  }
  return sum;
}

/// Returns nanoseconds of wall time for each call of `use(number of the thread)`, of all threads
/// together, once all of them have begun. The time for a thousand threads to end is excluded.
template <class Use>
double time_per_use_of(unsigned threads, std::chrono::milliseconds length, const Use& use) {
  std::atomic<bool> over{false};
  std::vector<counter> counters(threads);
  std::latch ready(threads + 1);
  std::vector<std::thread> team;
  team.reserve(threads);
  for (unsigned number = 0; number < threads; ++number) {
    team.emplace_back([&, number] {
      ready.arrive_and_wait();
      for (std::uint64_t uses = 0; !over.load(std::memory_order_relaxed);) {
        use(number);
        counters[number].uses.store(++uses, std::memory_order_relaxed);
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

template <class Pool, class Use>
double time_per_use(unsigned threads, std::chrono::milliseconds length, const Use& use) {
  Pool pool(resources);
  return time_per_use_of(threads, length, [&](unsigned /*number*/) { pool.with_one(use); });
}

/// Runs contenders in turns in every round, in a random order, so that none always follows the same
/// one. A contender's effect on the processors, and on the host of virtual ones, lasts for a while.
template <class Plan, class... Contender>
void take_turns(const Plan& todo, Contender&... contenders) {
  std::array turns{std::function<void()>([&] { contenders.round(todo); })...};
  std::mt19937 random;
  for (int round = 0; round < todo.rounds; ++round) {
    std::shuffle(turns.begin(), turns.end(), random);
    for (const auto& turn : turns) {
      turn();
    }
  }
}

/// Gives later threads small stacks: there are thousands.
inline void use_small_stacks() {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, std::size_t{64} * 1024);
  pthread_setattr_default_np(&small);
}

}  // namespace lido_bench
