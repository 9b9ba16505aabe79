/// @file
/// concurrent_slot_map beside a slot_map behind a lock and oneTBB's hash map, on 1, 2 and 8
/// threads.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdint>
#include <lido/concurrent_slot_map.hpp>
#include <lido/slot_map.hpp>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "objects.hpp"
#ifdef LIDO_BENCH_TBB
#include <tbb/concurrent_hash_map.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <lido/tbb.hpp>
#endif

namespace {

using lido_bench::dice;
using lido_bench::object;

constexpr std::size_t objects_per_thread = 1024;
constexpr std::size_t most_objects = 16 * objects_per_thread;
constexpr std::size_t some_objects = most_objects / 2;
constexpr std::size_t many_objects = 100'000;
constexpr std::size_t replaced_objects = 256;

// Each contender can add, remove and update. It also has these functions:
// - read(handle)      gives the hit points, beside other readers; -1 if there is no object
// - sum()             walks all objects for their hit points, beside other readers
// - move_all()        moves all objects on the threads of oneTBB

class concurrent_map {
 public:
  static constexpr std::string_view name = "lido_concurrent";
  using handle = lido::slot_handle<object>;
  explicit concurrent_map(std::size_t size = most_objects) : map_(size) {}
  handle add(std::int32_t points) { return map_.emplace(points); }
  void remove(handle where) { map_.erase(where); }
  bool update(handle where) {
    return map_.visit(where, [](object& value) { value.move(); });
  }
  [[nodiscard]] int read(handle where) const {
    int points = -1;
    map_.read(where, [&](const object& value) { points = value.hp; });
    return points;
  }
  [[nodiscard]] long sum() const {
    long points = 0;
    map_.for_each([&](const object& value) { points += value.hp; });
    return points;
  }
#ifdef LIDO_BENCH_TBB
  void move_all() {
    map_.for_each(lido::par, [](object& value) { value.move(); });
  }
#endif

 protected:
  lido::concurrent_slot_map<object> map_;
};

#ifdef LIDO_BENCH_TBB
/// A map that no other thread uses, as between two frames.
class lonely_map : public concurrent_map {
 public:
  static constexpr std::string_view name = "lido_concurrent_alone";
  using concurrent_map::concurrent_map;
  void move_all() {
    map_.for_each_alone(lido::par, [](object& value) { value.move(); });
  }
};
#endif

class locked_map {
 public:
  static constexpr std::string_view name = "slot_map_and_shared_mutex";
  using handle = lido::slot_handle<object>;
  explicit locked_map(std::size_t size = most_objects)
      : map_({.max_size = size, .reserve = size}) {}
  handle add(std::int32_t points) {
    const std::unique_lock lock(door_);
    return map_.emplace(points);
  }
  void remove(handle where) {
    const std::unique_lock lock(door_);
    map_.erase(where);
  }
  // Each thread updates only its own objects, so a shared lock is enough here, in its favour.
  bool update(handle where) {
    const std::shared_lock lock(door_);
    object* const found = map_.find(where);
    if (found != nullptr) {
      found->move();
    }
    return found != nullptr;
  }
  [[nodiscard]] int read(handle where) const {
    const std::shared_lock lock(door_);
    const object* const found = map_.find(where);
    return found != nullptr ? found->hp : -1;
  }
  [[nodiscard]] long sum() const {
    const std::shared_lock lock(door_);
    long points = 0;
    map_.for_each([&](const object& value) { points += value.hp; });
    return points;
  }
#ifdef LIDO_BENCH_TBB
  void move_all() {
    const std::unique_lock lock(door_);
    map_.for_each(lido::par, [](object& value) { value.move(); });
  }
#endif

 private:
  mutable std::shared_mutex door_;
  lido::slot_map<object> map_;
};

#ifdef LIDO_BENCH_TBB
class hash_map {
 public:
  static constexpr std::string_view name = "tbb_concurrent_hash_map";
  using handle = std::uint64_t;
  explicit hash_map(std::size_t /*size*/ = most_objects) {}
  handle add(std::int32_t points) {
    const handle id = next_id_.fetch_add(1, std::memory_order_relaxed);
    map_.emplace(id, points);
    return id;
  }
  void remove(handle id) { map_.erase(id); }
  bool update(handle id) {
    tbb::concurrent_hash_map<handle, object>::accessor found;
    if (!map_.find(found, id)) {
      return false;
    }
    found->second.move();
    return true;
  }
  [[nodiscard]] int read(handle id) const {
    tbb::concurrent_hash_map<handle, object>::const_accessor found;
    return map_.find(found, id) ? found->second.hp : -1;
  }
  // Its walks require that no thread changes the map, so they take no lock, in its favour.
  [[nodiscard]] long sum() const {
    long points = 0;
    for (const auto& [id, value] : map_) {
      points += value.hp;
    }
    return points;
  }
  void move_all() {
    tbb::parallel_for(map_.range(), [](auto& part) {
      for (auto& [id, value] : part) {
        value.move();
      }
    });
  }

 private:
  std::atomic<handle> next_id_{1};
  tbb::concurrent_hash_map<handle, object> map_;
};
#endif

/// Returns the map that all threads of a run share. The first thread makes it for each run.
template <class Map>
std::unique_ptr<Map>& shared() {
  static std::unique_ptr<Map> map;
  return map;
}

/// `updates` out of ten operations update an object; the others remove one and add another.
template <class Map>
void operate(benchmark::State& state, std::uint32_t updates) {
  if (state.thread_index() == 0) {
    shared<Map>() = std::make_unique<Map>();
  }
  dice random(static_cast<std::uint32_t>(state.thread_index()) + 1);
  std::vector<typename Map::handle> own;
  for (auto _ : state) {
    Map& map = *shared<Map>();
    if (own.size() < objects_per_thread) {
      own.push_back(map.add(1));
      continue;
    }
    auto& where = own[random(objects_per_thread)];
    if (random(10) < updates) {
      benchmark::DoNotOptimize(map.update(where));
    } else {
      map.remove(where);
      where = map.add(1);
    }
  }
}

/// The shared map, with space for twice as many objects, and the handles of its objects.
template <class Map, std::size_t Count>
struct filled {
  filled() : map(2 * Count) {
    for (std::size_t i = 0; i < Count; ++i) {
      handles.push_back(map.add(1));
    }
  }
  Map map;
  std::vector<typename Map::handle> handles;
};

/// Every thread looks up objects at random; no thread changes any.
template <class Map>
void look_up(benchmark::State& state) {
  if (state.thread_index() == 0) {
    shared<filled<Map, some_objects>>() = std::make_unique<filled<Map, some_objects>>();
  }
  dice random(static_cast<std::uint32_t>(state.thread_index()) + 1);
  for (auto _ : state) {
    const filled<Map, some_objects>& all = *shared<filled<Map, some_objects>>();
    const auto which = random(static_cast<std::uint32_t>(all.handles.size()));
    benchmark::DoNotOptimize(all.map.read(all.handles[which]));
  }
}

/// Every thread walks all objects; no thread changes any. The time is for one object of one walk.
template <class Map>
void walk(benchmark::State& state) {
  if (state.thread_index() == 0) {
    shared<filled<Map, many_objects>>() = std::make_unique<filled<Map, many_objects>>();
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(std::as_const(shared<filled<Map, many_objects>>()->map).sum());
  }
  state.counters["per_object"] = benchmark::Counter(
      static_cast<double>(many_objects) * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// Every thread alternately replaces its own objects and walks all there are. The time is for one
/// object replaced or walked over. Not with oneTBB's hash map, whose walks do not allow that.
template <class Map>
void walk_beside_churn(benchmark::State& state) {
  if (state.thread_index() == 0) {
    shared<filled<Map, some_objects>>() = std::make_unique<filled<Map, some_objects>>();
  }
  std::vector<typename Map::handle> own;
  for (auto _ : state) {
    Map& map = shared<filled<Map, some_objects>>()->map;
    for (std::size_t i = 0; i < replaced_objects; ++i) {
      if (own.size() < replaced_objects) {
        own.push_back(map.add(1));
      } else {
        map.remove(own[i]);
        own[i] = map.add(1);
      }
    }
    benchmark::DoNotOptimize(std::as_const(map).sum());
  }
  state.counters["per_object"] =
      benchmark::Counter(static_cast<double>(some_objects + replaced_objects) *
                             static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

#ifdef LIDO_BENCH_TBB
/// Walks once on that many threads of oneTBB, which moves each object. The time is for one object.
template <class Map>
void parallel_walk(benchmark::State& state) {
  const auto threads = static_cast<int>(state.range(0));
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(threads));
  tbb::task_arena arena(threads);
  filled<Map, many_objects> all;
  for (auto _ : state) {
    arena.execute([&] { all.map.move_all(); });
  }
  state.counters["per_object"] = benchmark::Counter(
      static_cast<double>(many_objects) * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
#endif

void on_threads(benchmark::internal::Benchmark* bench) {
  bench->Threads(1)->Threads(2)->Threads(8)->UseRealTime();
}

template <class Map>
void register_map() {
  const std::string name(Map::name);
  for (const auto& [workload, updates] :
       {std::pair{"concurrent_churn/", 0U}, std::pair{"concurrent_update/", 9U}}) {
    on_threads(benchmark::RegisterBenchmark((workload + name).c_str(), operate<Map>, updates));
  }
  on_threads(benchmark::RegisterBenchmark(("concurrent_look_up/" + name).c_str(), look_up<Map>));
  on_threads(benchmark::RegisterBenchmark(("concurrent_walk/" + name).c_str(), walk<Map>));
}

template <class Map>
void register_changed() {
  const std::string name(Map::name);
  on_threads(benchmark::RegisterBenchmark(("concurrent_walk_beside_churn/" + name).c_str(),
                                          walk_beside_churn<Map>));
}

#ifdef LIDO_BENCH_TBB
template <class Map>
void register_parallel_walk() {
  const std::string name = "parallel_walk/" + std::string(Map::name);
  benchmark::RegisterBenchmark(name.c_str(), parallel_walk<Map>)
      ->Arg(1)
      ->Arg(2)
      ->Arg(8)
      ->UseRealTime();
}
#endif

}  // namespace

void register_concurrent();
void register_concurrent() {
  register_map<concurrent_map>();
  register_map<locked_map>();
  register_changed<concurrent_map>();
  register_changed<locked_map>();
#ifdef LIDO_BENCH_TBB
  register_map<hash_map>();
  register_parallel_walk<concurrent_map>();
  register_parallel_walk<lonely_map>();
  register_parallel_walk<locked_map>();
  register_parallel_walk<hash_map>();
#endif
}
