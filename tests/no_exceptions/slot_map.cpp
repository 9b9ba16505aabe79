// Both slot maps without exceptions.
#include <lido/concurrent_slot_map.hpp>
#include <lido/slot_map.hpp>

#include <cstddef>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "check.hpp"

namespace {

void full_maps_refuse() {
  lido::slot_map<std::string> map({.max_size = 2, .name = "few"});
  const auto first = map.insert("first");
  const auto second = map.emplace(6U, '-');
  CHECK(!map.try_emplace("third"));
  CHECK(map.erase(first) && !map.erase(first));
  CHECK(map.find(first) == nullptr && map[second] == "------");
  const auto least = [](const std::string& a, const std::string& b) { return a < b; };
  CHECK(map.contains(map.emplace_or_evict(least, "third")));
  CHECK(map.contains(map.emplace_or_evict(least, "fourth")) && !map.contains(second));
}

// Has moves that are not noexcept: here holes are closed by moves that could throw in other builds.
struct moved {
  explicit moved(int number) : value(number) {}
  moved(moved&& other) : value(other.value) {}
  moved& operator=(moved&&) = delete;
  ~moved() = default;
  int value;
};

template <class T>
void values_survive_growth_and_holes() {
  lido::slot_map<T> map({.compaction = lido::compaction_mode::immediate});
  std::vector<lido::slot_handle<T>> handles;
  for (int i = 0; i < 10'000; ++i) {
    handles.push_back(map.emplace(i));
  }
  (void)map.for_each(
      [](T& each) { return each.value % 10 != 0 ? lido::step::erase : lido::step::next; });
  CHECK(map.size() == 1000 && map.holes() == 0);
  for (int i = 0; i < 10'000; ++i) {
    T* const found = map.find(handles[static_cast<std::size_t>(i)]);
    CHECK(i % 10 != 0 ? found == nullptr : found != nullptr && found->value == i);
  }
  map.shrink_to_fit();
  const lido::slot_map<T> other(std::move(map));
  CHECK(other.size() == 1000);
}

/// Damages a snapshot of the map in each of its numbers. A program without exceptions must find out
/// before `restore` would end it.
template <class Map>
void damaged_snapshots_are_found(Map& map, const Map& full) {
  const auto good = full.snapshot();
  CHECK(!map.problem_with(good));
  auto bad = good;
  bad.format = 0;
  CHECK(map.problem_with(bad).text() ==
        "the snapshot to restore does not have the format of this version of Lido");
  for (std::size_t slot = 0; slot < good.table.size(); ++slot) {
    bad = good;
    bad.table[slot] = 3;
    CHECK(map.problem_with(bad).text() == "the snapshot to restore is not consistent");
  }
  bad = good;
  bad.table.pop_back();
  CHECK(!map.problem_with(bad).text().empty());
  map.restore(good);
  CHECK(map.size() == full.size());
}

void damaged_saves_are_found() {
  lido::slot_map<int> map;
  lido::concurrent_slot_map<int> shared({.max_size = 8});
  for (int i = 0; i < 8; ++i) {
    (void)map.insert(i);
    (void)shared.insert(i);
  }
  lido::slot_map<int> restored;
  damaged_snapshots_are_found(restored, map);
  lido::concurrent_slot_map<int> restored_shared({.max_size = 8});
  damaged_snapshots_are_found(restored_shared, shared);
  CHECK(restored_shared.problem_with(shared.snapshot()).text() ==
        "restore into a map that is not empty");
}

struct plain {
  explicit plain(int number) : value(number) {}
  int value;
};

void threads_share_a_map() {
  lido::concurrent_slot_map<int> map({.max_size = 64, .name = "shared"});
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([&map, id] {
      for (int i = 0; i < 5'000; ++i) {
        const auto mine = map.try_emplace(id);
        CHECK(map.visit(mine, [id](int& value) { CHECK(std::exchange(value, id) == id); }));
        CHECK(map.read(mine, [id](const int& value) { CHECK(value == id); }));
        CHECK(map.erase(mine));
        CHECK(!map.contains(mine));
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  CHECK(map.size() == 0);
  for (int i = 0; i < 64; ++i) {
    (void)map.emplace(i);
  }
  CHECK(!map.try_emplace(64));
  int sum = 0;
  (void)map.for_each([&sum](int& value) { sum += value; });
  CHECK(sum == 63 * 32);
  map.clear();
  CHECK(map.size() == 0);
}

}  // namespace

int main() {
  full_maps_refuse();
  values_survive_growth_and_holes<plain>();
  values_survive_growth_and_holes<moved>();
  threads_share_a_map();
  damaged_saves_are_found();
}
