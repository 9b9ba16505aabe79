// The core in WebAssembly, with threads: counts are exact, waits end, pools grow, stale handles are
// refused. Without GoogleTest, and with what the oldest library of Emscripten has.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <lido/object_pool.hpp>
#include <lido/slot_map.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

int checks = 0;
int broken = 0;

void check(bool holds, const char* sentence) {
  ++checks;
  if (!holds) {
    ++broken;
    std::printf("BROKEN: %s\n", sentence);
  }
}

template <class Body>
void run_crew(int count, Body body) {
  std::vector<std::thread> crew;
  for (int i = 0; i < count; ++i) {
    crew.emplace_back(body);
  }
  for (std::thread& each : crew) {
    each.join();
  }
}

/// Threads take and give back; none ever has a slot of another. Afterwards all slots are found.
void count_exactly(lido::cache_kind caches) {
  constexpr std::size_t capacity = 64;
  lido::object_pool<std::atomic<int>> pool({.capacity = capacity, .caches = caches});
  std::atomic<int> shared{0};
  run_crew(4, [&] {
    for (int i = 0; i < 20'000; ++i) {
      std::vector<decltype(pool)::lease_type> some;
      for (int held = 0; held < 1 + i % 5; ++held) {
        some.push_back(pool.acquire(0));
        shared += some.back()->fetch_add(1) != 0 ? 1 : 0;
      }
    }
  });
  check(shared == 0, "two threads had one slot");
  check(pool.stats().in_use == 0, "a slot was not given back");
  std::vector<decltype(pool)::lease_type> all;
  while (auto one = pool.try_acquire(0)) {
    all.push_back(std::move(one));
  }
  check(all.size() == capacity, "a slot was lost");
}

void wait_for_a_slot() {
  lido::object_pool<int> pool({.capacity = 1, .when_full = lido::when_full::wait});
  auto held = pool.acquire(1);
  check(!pool.acquire_for(20ms, 2), "a wait without a release was served");
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    held.reset();
  });
  check(*pool.acquire(3) == 3, "a waiter was not served");
  other.join();
}

void grow() {
  lido::object_pool<std::string> pool({.max_capacity = 10'000, .when_full = lido::when_full::grow});
  std::vector<decltype(pool)::lease_type> all;
  for (int i = 0; i < 10'000; ++i) {
    all.push_back(pool.acquire(std::to_string(i)));
  }
  check(!pool.try_acquire("more"), "a pool grew past its largest capacity");
  try {
    (void)pool.acquire("more");
    check(false, "an exhausted pool said nothing");
  } catch (const lido::pool_exhausted&) {
    check(true, "");
  }
  check(*all[1234] == "1234", "an object moved");
}

void refuse_stale_handles() {
  lido::slot_map<int> map;
  const auto gone = map.insert(1);
  map.erase(gone);
  const auto next = map.insert(2);
  check(map.find(gone) == nullptr && *map.find(next) == 2, "a stale handle leads somewhere");
}

}  // namespace

int main() {
  count_exactly(lido::cache_kind::revocable);
  count_exactly(lido::cache_kind::locked);
  count_exactly(lido::cache_kind::none);
  wait_for_a_slot();
  grow();
  refuse_stale_handles();
  std::printf("%d checks, %d broken\n", checks, broken);
  return broken == 0 ? 0 : 1;
}
