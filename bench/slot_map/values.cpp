/// @file
/// slot_map beside the containers that a user would use instead, in one thread. scripts/bench.sh
/// --slot-map runs it; the table of dcm_pool is in frames.cpp.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "containers.hpp"
#include "dense_slot_map.hpp"
#include "sparse_set.hpp"

namespace {

using lido::compaction_mode;
using lido_bench::dice;
using lido_bench::object;

/// Objects in a container, with the handles of live ones, if handles stay valid.
template <class Container>
struct filled {
  using handle = typename Container::handle;

  explicit filled(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      add(static_cast<int>(i));
    }
  }
  void add(int points) {
    const auto fresh = container.add(points);
    if constexpr (Container::keeps_handles) {
      handles.push_back(fresh);
    }
  }
  [[nodiscard]] handle any(dice& random) const {
    const std::uint32_t which = random(static_cast<std::uint32_t>(container.size()));
    if constexpr (Container::keeps_handles) {
      return handles[which];
    } else {
      return which;
    }
  }
  void remove_any(dice& random) {
    const std::uint32_t which = random(static_cast<std::uint32_t>(container.size()));
    if constexpr (Container::keeps_handles) {
      container.remove(handles[which]);
      handles[which] = handles.back();
      handles.pop_back();
    } else {
      container.remove(which);
    }
  }

  Container container;
  std::vector<handle> handles;
};

void per_object(benchmark::State& state, std::size_t objects) {
  state.counters["per_object"] =
      benchmark::Counter(static_cast<double>(objects) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// Walks all objects. There is one function for each address where a linker may put a loop. A loop
/// of so few instructions takes half as long again at some of them; the median is over all of them.
template <class Container, int Place>
void iterate(benchmark::State& state) {
  filled<Container> all(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    asm volatile(".balign 64, 0x90\n\t.skip %c0, 0x90" : : "i"(16 * Place + 1));
    all.container.walk([](object& value) { value.move(); });
    benchmark::ClobberMemory();
  }
  per_object(state, all.container.size());
}

/// Walks with every fourth object erased at random; the time is for one live object. Each walk has
/// other holes, as in each frame: processors learn the holes of tens of thousands of slots by
/// heart.
template <class Container, int Place>
void iterate_with_holes(benchmark::State& state) {
  using clock = std::chrono::steady_clock;
  const auto living = static_cast<std::size_t>(state.range(0));
  filled<Container> all(0);
  dice random;
  for (auto _ : state) {
    while (all.container.size() < living * 4 / 3) {
      all.add(1);
    }
    while (all.container.size() > living) {
      all.remove_any(random);
    }
    const auto begin = clock::now();
    asm volatile(".balign 64, 0x90\n\t.skip %c0, 0x90" : : "i"(16 * Place + 1));
    all.container.walk([](object& value) { value.move(); });
    benchmark::ClobberMemory();
    state.SetIterationTime(std::chrono::duration<double>(clock::now() - begin).count());
  }
  per_object(state, living);
}

/// Removes a random object and adds another one.
template <class Container>
void churn(benchmark::State& state) {
  filled<Container> all(static_cast<std::size_t>(state.range(0)));
  dice random;
  for (auto _ : state) {
    all.remove_any(random);
    all.add(1);
  }
}

/// Returns the handle if handles stay valid, and otherwise the index.
template <class Container>
typename Container::handle handle_of(typename Container::handle given, std::size_t index) {
  if constexpr (Container::keeps_handles) {
    (void)index;
    return given;
  } else {
    return index;
  }
}

/// Adds a thousand objects, and removes them in random order.
template <class Container>
void insert_erase(benchmark::State& state) {
  constexpr std::uint32_t burst = 1000;
  filled<Container> all(static_cast<std::size_t>(state.range(0)));
  const std::size_t first = all.container.size();
  dice random;
  std::vector<std::uint32_t> picks;  // index of each among those left then
  for (std::uint32_t left = burst; left > 0; --left) {
    picks.push_back(random(left));
  }
  std::vector<typename Container::handle> fresh;
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < burst; ++i) {
      fresh.push_back(all.container.add(1));
    }
    for (const std::uint32_t pick : picks) {
      all.container.remove(handle_of<Container>(fresh[pick], first + pick));
      fresh[pick] = fresh.back();
      fresh.pop_back();
    }
  }
  per_object(state, burst);
}

/// Looks up as many as there are objects, drawn beforehand: a generator takes longer than a look-up
/// in the cache.
template <class Container>
void look_up_in(benchmark::State& state, filled<Container>& all, dice& random) {
  std::vector<typename Container::handle> wanted;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    wanted.push_back(all.any(random));
  }
  for (auto _ : state) {
    std::int64_t sum = 0;  // so that the objects are read, and not only found
    for (const auto& where : wanted) {
      sum += all.container.find(where)->hp;
    }
    benchmark::DoNotOptimize(sum);
  }
  per_object(state, wanted.size());
}

template <class Container>
void look_up(benchmark::State& state) {
  filled<Container> all(static_cast<std::size_t>(state.range(0)));
  dice random;
  look_up_in(state, all, random);
}

/// Looks up after many objects were added and removed. Objects that were added one after the other
/// are no longer neighbours, nor are the nodes of a hash table.
template <class Container>
void look_up_after_churn(benchmark::State& state) {
  filled<Container> all(static_cast<std::size_t>(state.range(0)));
  dice random;
  for (std::int64_t i = 0; i < 4 * state.range(0); ++i) {
    all.remove_any(random);
    all.add(1);
  }
  look_up_in(state, all, random);
}

/// Updates all, removes expired objects in the same walk, and adds as many. About one in a hundred
/// expires each time.
template <class Container>
void walk_and_remove(benchmark::State& state) {
  filled<Container> all(0);
  dice random;
  const auto add_some = [&](std::size_t missing) {
    for (; missing != 0; --missing) {
      all.container.add(1 + static_cast<int>(random(200)));
    }
  };
  const auto wanted = static_cast<std::size_t>(state.range(0));
  add_some(wanted);
  for (auto _ : state) {
    all.container.prune([](object& value) {
      value.move();
      return --value.hp == 0;
    });
    add_some(wanted - all.container.size());
  }
  per_object(state, wanted);
}

/// Shrinks to a twentieth of the objects, walks all, and grows again; the time is for one added
/// object.
template <class Container>
void breathe(benchmark::State& state) {
  using clock = std::chrono::steady_clock;
  const auto most = static_cast<std::size_t>(state.range(0));
  filled<Container> all(most);
  dice random;
  for (auto _ : state) {
    while (all.container.size() > most / 20) {
      all.remove_any(random);
    }
    all.container.walk([](object& value) { value.move(); });
    const auto begin = clock::now();
    while (all.container.size() < most) {
      all.add(1);
    }
    state.SetIterationTime(std::chrono::duration<double>(clock::now() - begin).count());
  }
  per_object(state, most - most / 20);
}

/// Runs a frame: a hundred objects are removed and fifty added, so that there are holes when all
/// are walked; sixteen are looked up; then another fifty are added.
template <class Container>
void mixed(benchmark::State& state) {
  filled<Container> all(static_cast<std::size_t>(state.range(0)));
  dice random;
  for (auto _ : state) {
    for (int i = 0; i < 100; ++i) {
      all.remove_any(random);
    }
    for (int i = 0; i < 50; ++i) {
      all.add(1);
    }
    all.container.walk([](object& value) { value.move(); });
    std::int64_t sum = 0;
    for (int i = 0; i < 16; ++i) {
      sum += all.container.find(all.any(random))->hp;
    }
    benchmark::DoNotOptimize(sum);
    for (int i = 0; i < 50; ++i) {
      all.add(1);
    }
  }
  per_object(state, all.container.size());
}

/// Copies all that a file or a rollback needs, into existing memory.
void copy_snapshot(benchmark::State& state) {
  lido::slot_map<object> map;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    (void)map.emplace(1);
  }
  std::vector<object> values(map.size());
  std::vector<std::uint64_t> slots(map.size());
  for (auto _ : state) {
    const auto now = map.snapshot();
    std::memcpy(values.data(), now.values.data(), now.values.size_bytes());
    std::memcpy(slots.data(), now.table.data(), now.table.size_bytes());
    benchmark::ClobberMemory();
  }
  per_object(state, map.size());
}

/// Copies only the values, the floor of that.
void copy_values(benchmark::State& state) {
  const std::vector<object> from(static_cast<std::size_t>(state.range(0)));
  std::vector<object> to(from.size());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size() * sizeof(object));
    benchmark::ClobberMemory();
  }
  per_object(state, from.size());
}

/// Restores from such copies.
void restore(benchmark::State& state) {
  lido::slot_map<object> map;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    (void)map.emplace(1);
  }
  const auto now = map.snapshot();
  const std::vector<object> values(now.values.begin(), now.values.end());
  const std::vector<std::uint64_t> slots(now.table.begin(), now.table.end());
  for (auto _ : state) {
    map.restore({now.format, values, slots, now.first_free, now.first_generation});
  }
  per_object(state, map.size());
}

/// Fills a map, and lets `empty` empty it. Times either that, or what `fill` does then. Both get
/// the map and the handles in a random order.
template <bool TimesFill, class Empty, class Fill>
void empty_and_fill(benchmark::State& state, Empty empty, Fill fill) {
  using clock = std::chrono::steady_clock;
  lido::slot_map<object> map;
  const auto count = static_cast<std::size_t>(state.range(0));
  std::vector<lido::slot_handle<object>> handles;
  dice random;
  for (auto _ : state) {
    while (map.size() < count) {
      handles.push_back(map.emplace(1));
    }
    std::shuffle(handles.begin(), handles.end(), std::minstd_rand(random(1'000'000)));
    const auto begin = clock::now();
    empty(map, handles);
    const auto between = clock::now();
    fill(map, handles);
    const auto end = clock::now();
    const auto taken = TimesFill ? end - between : between - begin;
    state.SetIterationTime(std::chrono::duration<double>(taken).count());
    map.clear();
    handles.clear();
  }
  per_object(state, count);
}

constexpr auto erase_each = [](auto& map, const auto& handles) {
  for (const auto& each : handles) {
    map.erase(each);
  }
  map.compact();
};
constexpr auto clear_all = [](auto& map, const auto& /*handles*/) { map.clear(); };
constexpr auto emplace_each = [](auto& map, const auto& handles) {
  for (std::size_t left = handles.size(); left != 0; --left) {
    benchmark::DoNotOptimize(map.emplace(1));
  }
};
constexpr auto emplace_each_at = [](auto& map, const auto& handles) {
  for (const auto& each : handles) {
    benchmark::DoNotOptimize(map.emplace_at(each, 1));
  }
};

void clear(benchmark::State& state) {
  empty_and_fill<false>(state, clear_all, emplace_each);
}
/// Fills the map from its list of free slots, after values were erased in a random order.
void refill(benchmark::State& state) {
  empty_and_fill<true>(state, erase_each, emplace_each);
}
/// Makes values under known handles in a random order.
void emplace_at(benchmark::State& state) {
  empty_and_fill<true>(state, clear_all, emplace_each_at);
}

template <class Container>
void register_workload(const char* workload, void (*run)(benchmark::State&)) {
  const std::string name = std::string(workload) + "/" + std::string(Container::name);
  benchmark::RegisterBenchmark(name.c_str(), run)->Arg(1000)->Arg(100'000);
}

template <class Container>
void register_container() {
  register_workload<Container>("iterate", iterate<Container, 0>);
  register_workload<Container>("iterate", iterate<Container, 1>);
  register_workload<Container>("iterate", iterate<Container, 2>);
  register_workload<Container>("iterate", iterate<Container, 3>);
  register_workload<Container>("churn", churn<Container>);
  register_workload<Container>("insert_erase", insert_erase<Container>);
  register_workload<Container>("look_up", look_up<Container>);
  register_workload<Container>("look_up_after_churn", look_up_after_churn<Container>);
  register_workload<Container>("walk_and_remove", walk_and_remove<Container>);
  register_workload<Container>("mixed", mixed<Container>);
  const std::string name = "breathe/" + std::string(Container::name);
  benchmark::RegisterBenchmark(name.c_str(), breathe<Container>)
      ->Arg(1000)
      ->Arg(100'000)
      ->UseManualTime();
}

/// Registers walks around holes, and an array, which has none.
template <class Container>
void register_holes() {
  const std::string name = "iterate_with_holes/" + std::string(Container::name);
  const auto add = [&name](void (*run)(benchmark::State&)) {
    benchmark::RegisterBenchmark(name.c_str(), run)->Arg(1000)->Arg(100'000)->UseManualTime();
  };
  add(iterate_with_holes<Container, 0>);
  add(iterate_with_holes<Container, 1>);
  add(iterate_with_holes<Container, 2>);
  add(iterate_with_holes<Container, 3>);
}

}  // namespace

void register_concurrent();
void register_secondary();

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return EXIT_FAILURE;
  }
  register_container<lido_bench::lido_map<compaction_mode::deferred>>();
  register_container<lido_bench::lido_map<compaction_mode::immediate>>();
  register_container<lido_bench::lido_map<compaction_mode::manual>>();
  register_container<lido_bench::dense_slot_map>();
  register_container<lido_bench::sparse_set>();
  register_container<lido_bench::std_vector>();
  register_container<lido_bench::std_list>();
  register_container<lido_bench::hash_map_pool>();
  register_container<lido_bench::stable_vector>();
#ifdef LIDO_BENCH_COLONY
  register_container<lido_bench::colony>();
#endif
  register_holes<lido_bench::lido_map<compaction_mode::manual>>();
  register_holes<lido_bench::std_vector>();
#ifdef LIDO_BENCH_COLONY
  register_holes<lido_bench::colony>();
#endif
  benchmark::RegisterBenchmark("snapshot/lido", copy_snapshot)->Arg(1000)->Arg(100'000);
  benchmark::RegisterBenchmark("snapshot/memcpy", copy_values)->Arg(1000)->Arg(100'000);
  benchmark::RegisterBenchmark("snapshot/lido_restore", restore)->Arg(1000)->Arg(100'000);
  const auto add = [](const char* name, void (*run)(benchmark::State&)) {
    benchmark::RegisterBenchmark(name, run)->Arg(1000)->Arg(100'000)->UseManualTime();
  };
  add("clear/lido", clear);
  add("refill/lido", refill);
  add("emplace_at/lido", emplace_at);
  register_secondary();
  register_concurrent();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return EXIT_SUCCESS;
}
