#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "lido/concurrent_slot_map.hpp"
#include "support/crew.hpp"

namespace lido {
namespace {

/// Counts live objects.
struct counted {
  explicit counted(std::atomic<int>& alive) : all(&alive) { ++*all; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --*all; }

  std::atomic<int>* all;
};

using counted_map = concurrent_slot_map<counted>;

TEST(ConcurrentSlotMapClear, ErasesAllAndEachHandleIsStale) {
  std::atomic<int> alive{0};
  counted_map map(100);
  std::vector<counted_map::handle_type> handles;
  for (int i = 0; i < 100; ++i) {
    handles.push_back(map.emplace(alive));
  }
  for (std::size_t i = 0; i < handles.size(); i += 3) {
    map.erase(handles[i]);
  }
  map.clear();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(map.size(), 0U);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(map.try_emplace(alive)) << "a slot is lost";
  }
  for (const auto& handle : handles) {
    EXPECT_FALSE(map.contains(handle));
  }
}

// A visitor of a value destroys it on leaving; a clear does not wait, and may be called there.
TEST(ConcurrentSlotMapClear, DoesNotWaitForVisitors) {
  std::atomic<int> alive{0};
  counted_map map(2);
  const auto visited = map.emplace(alive);
  (void)map.emplace(alive);
  EXPECT_TRUE(map.visit(visited, [&](counted&) {
    map.clear();
    EXPECT_EQ(alive, 1);
    EXPECT_FALSE(map.contains(visited));
  }));
  EXPECT_EQ(alive, 0);
}

struct teller {
  std::atomic<int>* told;
  void on_erase(counted& /*value*/, slot_handle<counted> /*handle*/) const noexcept { ++*told; }
};

TEST(ConcurrentSlotMapClear, TellsTheHookOfEach) {
  std::atomic<int> alive{0};
  std::atomic<int> told{0};
  concurrent_slot_map<counted, teller> map({.max_size = 10}, teller{&told});
  for (int i = 0; i < 7; ++i) {
    (void)map.emplace(alive);
  }
  map.clear();
  EXPECT_EQ(told, 7);
}

// Nothing is destroyed twice or left; a value inserted before the last clear is gone.
TEST(ConcurrentSlotMapClear, MayRunBesideInsertsErasesAndOtherClears) {
  std::atomic<int> alive{0};
  counted_map map(64);
  constexpr unsigned inserters = 3;
  std::vector<std::vector<counted_map::handle_type>> made(inserters);
  test::run_crew(inserters + 2, [&](unsigned who) {
    for (int i = 0; i < 3000; ++i) {
      if (who >= inserters) {
        map.clear();
      } else if (const auto handle = map.try_emplace(alive)) {
        made[who].push_back(handle);
        (void)map.erase(made[who][made[who].size() / 2]);
      }
    }
  });
  EXPECT_EQ(static_cast<std::size_t>(alive), map.size());
  map.clear();
  EXPECT_EQ(alive, 0);
  for (const auto& mine : made) {
    for (const auto& handle : mine) {
      ASSERT_FALSE(map.contains(handle));
    }
  }
  for (int i = 0; i < 64; ++i) {
    EXPECT_TRUE(map.try_emplace(alive)) << "a slot is lost";
  }
}

}  // namespace
}  // namespace lido
