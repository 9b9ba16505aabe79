/// @file
/// concurrent_slot_map beside a slot_map behind a lock and oneTBB's hash map, on 1, 2 and 8
/// threads.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdint>
#include <lido/slot_map.hpp>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "slot_map/objects.hpp"
#ifdef LIDO_BENCH_TBB
#include <tbb/concurrent_hash_map.h>
#endif

namespace {

using lido_bench::dice;
using lido_bench::object;

constexpr std::size_t objects_per_thread = 1024;
constexpr std::size_t most_objects = 16 * objects_per_thread;

class concurrent_map {
 public:
  static constexpr std::string_view name = "lido_concurrent";
  using handle = lido::slot_handle<object>;
  handle add(const object& value) { return map_.emplace(value); }
  void remove(handle where) { map_.erase(where); }
  bool update(handle where) {
    return map_.visit(where, [](object& value) { value.move(); });
  }

 private:
  lido::concurrent_slot_map<object> map_{most_objects};
};

class locked_map {
 public:
  static constexpr std::string_view name = "slot_map_and_shared_mutex";
  using handle = lido::slot_handle<object>;
  handle add(const object& value) {
    const std::unique_lock lock(door_);
    return map_.emplace(value);
  }
  void remove(handle where) {
    const std::unique_lock lock(door_);
    map_.erase(where);
  }
  // Each thread updates objects of its own, so a shared lock is enough here, in its favour.
  bool update(handle where) {
    const std::shared_lock lock(door_);
    object* const found = map_.find(where);
    if (found != nullptr) {
      found->move();
    }
    return found != nullptr;
  }

 private:
  std::shared_mutex door_;
  lido::slot_map<object> map_{{.reserve = most_objects}};
};

#ifdef LIDO_BENCH_TBB
class hash_map {
 public:
  static constexpr std::string_view name = "tbb_concurrent_hash_map";
  using handle = std::uint64_t;
  handle add(const object& value) {
    const handle id = next_id_.fetch_add(1, std::memory_order_relaxed);
    map_.emplace(id, value);
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

 private:
  std::atomic<handle> next_id_{1};
  tbb::concurrent_hash_map<handle, object> map_;
};
#endif

/// One for all threads of a run, made anew by the first.
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
      own.push_back(map.add(object(1)));
      continue;
    }
    auto& where = own[random(objects_per_thread)];
    if (random(10) < updates) {
      benchmark::DoNotOptimize(map.update(where));
    } else {
      map.remove(where);
      where = map.add(object(1));
    }
  }
}

template <class Map>
void register_map() {
  const std::string name(Map::name);
  for (const auto& [workload, updates] :
       {std::pair{"concurrent_churn/", 0U}, std::pair{"concurrent_update/", 9U}}) {
    benchmark::RegisterBenchmark((workload + name).c_str(), operate<Map>, updates)
        ->Threads(1)
        ->Threads(2)
        ->Threads(8)
        ->UseRealTime();
  }
}

}  // namespace

void register_concurrent();
void register_concurrent() {
  register_map<concurrent_map>();
  register_map<locked_map>();
#ifdef LIDO_BENCH_TBB
  register_map<hash_map>();
#endif
}
