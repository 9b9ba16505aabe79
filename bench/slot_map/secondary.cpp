/// @file
/// Data beside the values of a slot map: secondary_map and its alternatives, in one thread.
#include <benchmark/benchmark.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "secondary_maps.hpp"

namespace {

using lido_bench::dice;
using lido_bench::light;
using lido_bench::object_handle;

/// A slot map of objects. One in `share` of them, by chance, has a light.
template <class Lights>
struct lit_objects {
  lit_objects(std::uint32_t count, std::uint32_t share) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const object_handle owner = objects.emplace(1);
      if (random(share) == 0) {
        lights.insert(owner, light());
        lit.push_back(owner);
      } else {
        dark.push_back(owner);
      }
    }
  }

  lido::slot_map<lido_bench::object> objects;
  Lights lights;
  std::vector<object_handle> lit;
  std::vector<object_handle> dark;
  dice random;
};

void per_light(benchmark::State& state, std::size_t lights) {
  state.counters["per_object"] =
      benchmark::Counter(static_cast<double>(lights) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <class Lights, std::uint32_t Share>
void walk(benchmark::State& state) {
  lit_objects<Lights> all(static_cast<std::uint32_t>(state.range(0)), Share);
  for (auto _ : state) {
    all.lights.walk([](light& each) { each.move(); });
    benchmark::ClobberMemory();
  }
  per_light(state, all.lit.size());
}

/// Looks up the light of each object that has one, by chance.
template <class Lights>
void look_up(benchmark::State& state) {
  lit_objects<Lights> all(static_cast<std::uint32_t>(state.range(0)), 2);
  std::vector<object_handle> wanted;
  for (std::size_t i = 0; i != all.lit.size(); ++i) {
    wanted.push_back(all.lit[all.random(static_cast<std::uint32_t>(all.lit.size()))]);
  }
  for (auto _ : state) {
    float sum = 0;
    for (const object_handle owner : wanted) {
      sum += all.lights.find(owner)->strength;
    }
    benchmark::DoNotOptimize(sum);
  }
  per_light(state, wanted.size());
}

/// Takes the light from an object, and gives one to an object that has none.
template <class Lights>
void churn(benchmark::State& state) {
  lit_objects<Lights> all(static_cast<std::uint32_t>(state.range(0)), 2);
  for (auto _ : state) {
    object_handle& lit = all.lit[all.random(static_cast<std::uint32_t>(all.lit.size()))];
    object_handle& dark = all.dark[all.random(static_cast<std::uint32_t>(all.dark.size()))];
    all.lights.erase(lit);
    all.lights.insert(dark, light());
    std::swap(lit, dark);
  }
}

/// Changes each object that has a light, which is one in sixteen. Walks the lights, and looks up
/// their objects.
template <class Lights>
void join_from_lights(benchmark::State& state) {
  lit_objects<Lights> all(static_cast<std::uint32_t>(state.range(0)), 16);
  for (auto _ : state) {
    all.lights.walk([&](const light& each, object_handle owner) {
      all.objects.find(owner)->place[0] += each.strength;
    });
    benchmark::ClobberMemory();
  }
  per_light(state, all.lit.size());
}

/// Changes the same objects. Walks all objects, and looks up their lights.
template <class Lights>
void join_from_objects(benchmark::State& state) {
  lit_objects<Lights> all(static_cast<std::uint32_t>(state.range(0)), 16);
  const auto change = [&](lido_bench::object& each, object_handle owner) {
    if (const light* const own = all.lights.find(owner)) {
      each.place[0] += own->strength;
    }
  };
  for (auto _ : state) {
    all.objects.for_each(change);
    benchmark::ClobberMemory();
  }
  per_light(state, all.lit.size());
}

#ifdef __GLIBC__

/// Counts the bytes of 101 lights for a million objects.
template <class Lights>
void memory(benchmark::State& state) {
  const auto allocated = [] {
    const struct mallinfo2 now = ::mallinfo2();
    return now.uordblks + now.hblkhd;
  };
  std::vector<object_handle> owners;
  owners.reserve(101);
  dice random;
  for (int i = 0; i < 101; ++i) {
    owners.emplace_back(random(1'000'000), 1);
  }
  std::size_t bytes = 0;
  for (auto _ : state) {
    const std::size_t before = allocated();
    Lights lights;
    for (const object_handle owner : owners) {
      lights.insert(owner, light());
    }
    bytes = allocated() - before;
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}

template <class Lights>
void register_memory() {
  const std::string name = "secondary_memory/" + std::string(Lights::name);
  benchmark::RegisterBenchmark(name.c_str(), memory<Lights>)->Arg(1'000'000);
}

#else

template <class Lights>
void register_memory() {}

#endif

template <class Lights>
void register_one(const char* workload, void (*run)(benchmark::State&)) {
  const std::string name = std::string(workload) + "/" + std::string(Lights::name);
  benchmark::RegisterBenchmark(name.c_str(), run)->Arg(1000)->Arg(100'000);
}

template <class Lights>
void register_walks() {
  register_one<Lights>("secondary_walk", walk<Lights, 1>);
  register_one<Lights>("secondary_walk_half", walk<Lights, 2>);
  register_one<Lights>("secondary_walk_sparse", walk<Lights, 64>);
}

template <class Lights>
void register_lights() {
  register_walks<Lights>();
  register_one<Lights>("secondary_look_up", look_up<Lights>);
  register_one<Lights>("secondary_churn", churn<Lights>);
  register_memory<Lights>();
}

}  // namespace

void register_secondary() {
  using lido_bench::lido_secondary_map;
  register_lights<lido_secondary_map>();
  register_walks<lido_bench::lido_secondary_values>();
  register_lights<lido_bench::slot_array>();
  register_lights<lido_bench::hash_map>();
  register_walks<lido_bench::value_vector>();
  register_one<lido_secondary_map>("secondary_join_from_it", join_from_lights<lido_secondary_map>);
  register_one<lido_secondary_map>("secondary_join_into_it", join_from_objects<lido_secondary_map>);
}
