// Handles that are reserved before their values exist, and snapshots of concurrent maps.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lido/concurrent_slot_map.hpp"
#include "support/crew.hpp"
#include "support/few_generations.hpp"
#include "support/tracked.hpp"

namespace lido {
namespace {

using test::refused;
using shared_ints = concurrent_slot_map<int>;
using few_shared = concurrent_slot_map<int, test::few_generations<2>>;

template <class Map>
int shared_value(const Map& map, typename Map::handle_type handle) {
  int found = -1;
  (void)map.read(handle, [&](const int& value) { found = value; });
  return found;
}

TEST(ReservedHandle, IsRefusedUntilItsValueIsMade) {
  shared_ints map(10);
  const auto handle = map.reserve_handle();
  ASSERT_TRUE(handle);
  EXPECT_FALSE(map.contains(handle));
  EXPECT_FALSE(map.visit(handle, [](int&) { FAIL(); }));
  EXPECT_FALSE(map.read(handle, [](const int&) { FAIL(); }));
  EXPECT_TRUE(map.for_each([](int&) { FAIL(); }));
  map.clear();
  EXPECT_EQ(map.size(), 1U);
  std::thread([&] { EXPECT_TRUE(map.emplace_at(handle, 7)); }).join();
  EXPECT_EQ(shared_value(map, handle), 7);
  EXPECT_FALSE(map.emplace_at(handle, 8)) << "it has a value";
  EXPECT_TRUE(map.erase(handle));
  EXPECT_FALSE(map.emplace_at(handle, 8)) << "it is stale";
}

TEST(ReservedHandle, CanBeGivenUp) {
  shared_ints map(1);
  const auto handle = map.reserve_handle();
  EXPECT_FALSE(map.reserve_handle()) << "the map is full";
  EXPECT_FALSE(map.try_emplace(1));
  EXPECT_TRUE(map.erase(handle));
  EXPECT_FALSE(map.erase(handle));
  EXPECT_FALSE(map.emplace_at(handle, 1));
  const auto next = map.emplace(2);
  EXPECT_NE(next, handle);
  EXPECT_EQ(map.size(), 1U);
}

TEST(ReservedHandle, OfNoMapIsRefused) {
  shared_ints map(3);
  const auto handle = map.emplace(1);
  map.erase(handle);
  const auto forged = [](std::uint64_t bits) { return shared_ints::handle_type::from_bits(bits); };
  for (const std::uint64_t bits : {std::uint64_t{0}, handle.to_bits(), handle.to_bits() + 4,
                                   handle.to_bits() | 3U, ~std::uint64_t{0}}) {
    EXPECT_FALSE(map.emplace_at(forged(bits), 1)) << bits;
    EXPECT_FALSE(map.erase(forged(bits))) << bits;
  }
  const auto reserved = map.reserve_handle();
  const std::uint64_t beyond = reserved.to_bits() + (std::uint64_t{1} << 50U);
  EXPECT_FALSE(map.emplace_at(forged(beyond), 1));
  EXPECT_TRUE(map.emplace_at(reserved, 1));
}

/// A type whose constructor throws on request.
struct fussy_shared {
  explicit fussy_shared(bool refuse) {
    if (refuse) {
      throw refused();
    }
  }
};

TEST(ReservedHandle, StaysReservedIfTheConstructorThrows) {
  concurrent_slot_map<fussy_shared> map(1);
  const auto handle = map.reserve_handle();
  EXPECT_THROW((void)map.emplace_at(handle, true), refused);
  EXPECT_FALSE(map.contains(handle));
  EXPECT_TRUE(map.emplace_at(handle, false));
  EXPECT_TRUE(map.contains(handle));
}

/// Hooks that refuse a value.
struct refuses_inserts_shared {
  template <class T>
  void on_insert(T& /*value*/, slot_handle<T> /*handle*/) const {
    throw refused();
  }
};

TEST(ReservedHandle, IsStaleIfOnInsertThrows) {
  concurrent_slot_map<int, refuses_inserts_shared> map(1);
  const auto handle = map.reserve_handle();
  EXPECT_THROW((void)map.emplace_at(handle, 1), refused);
  EXPECT_FALSE(map.emplace_at(handle, 1));
  EXPECT_NE(map.reserve_handle(), handle);
}

/// Two threads fulfil 16 reserved handles, while a third one gives them up or erases their values.
void fulfil_and_give_up(shared_ints& map) {
  std::array<shared_ints::handle_type, 16> handles{};
  for (auto& each : handles) {
    each = map.reserve_handle();
  }
  std::array<std::atomic<int>, 16> made{};
  std::array<bool, 16> erased{};
  test::run_crew(3, [&](unsigned member) {
    for (std::size_t i = 0; i < handles.size(); ++i) {
      if (member == 2) {
        erased[i] = map.erase(handles[i]);
      } else {
        made[i] += map.emplace_at(handles[i], 1) ? 1 : 0;
      }
    }
  });
  for (std::size_t i = 0; i < handles.size(); ++i) {
    EXPECT_LE(made[i], 1);
    EXPECT_EQ(map.contains(handles[i]), !erased[i]);
  }
}

TEST(ReservedHandle, IsFulfilledOrGivenUpByOneThread) {
  shared_ints map(64);
  for (int round = 0; round < 200; ++round) {
    fulfil_and_give_up(map);
    map.clear();
    EXPECT_TRUE(map.empty());
  }
}

/// A snapshot as a user would read it from a file.
template <class T>
struct saved_shared {
  template <class... Rest>
  explicit saved_shared(const concurrent_slot_map_snapshot<T, Rest...>& from)
      : format(from.format),
        max_size(from.max_size),
        values(from.values.begin(), from.values.end()),
        table(from.table.begin(), from.table.end()) {}
  [[nodiscard]] concurrent_slot_map_snapshot<T> view() const {
    return {format, max_size, values, table};
  }
  std::uint32_t format;
  std::uint32_t max_size;
  std::vector<T> values;
  std::vector<std::uint64_t> table;
};

/// Fills a map so that it has values, free slots, used-up slots and reserved handles.
std::vector<few_shared::handle_type> fill_shared(few_shared& map) {
  std::vector<few_shared::handle_type> all;
  all.reserve(100);
  for (int i = 0; i < 60; ++i) {
    all.push_back(map.emplace(i));
  }
  for (std::size_t i = 0; i < 60; i += 3) {
    map.erase(all[i]);
  }
  for (int i = 0; i < 10; ++i) {
    all.push_back(map.emplace(100 + i));
    map.erase(all.back());
    all.push_back(map.emplace(200 + i));
  }
  all.push_back(map.reserve_handle());
  return all;
}

TEST(ConcurrentSnapshot, GivesTheSameValuesHandlesAndReservedHandles) {
  few_shared map(100);
  const auto all = fill_shared(map);
  EXPECT_NE(map.used_up_slots(), 0U);
  const saved_shared<int> file(std::as_const(map).snapshot());
  few_shared other(100);
  const auto value = other.emplace(1);
  EXPECT_THROW(other.restore(file.view()), std::invalid_argument) << "not empty";
  EXPECT_TRUE(other.erase(value));
  other.restore(file.view());
  EXPECT_EQ(other.size(), map.size());
  EXPECT_EQ(other.used_up_slots(), map.used_up_slots());
  for (const auto& each : all) {
    EXPECT_EQ(shared_value(other, each), shared_value(map, each));
  }
  EXPECT_TRUE(other.emplace_at(all.back(), 5));
  EXPECT_EQ(shared_value(other, all.back()), 5);
  std::size_t fresh = 0;
  while (const auto handle = other.try_emplace(1)) {
    EXPECT_EQ(std::count(all.begin(), all.end(), handle), 0) << "a handle is given twice";
    ++fresh;
  }
  EXPECT_EQ(other.size() + other.used_up_slots(), 100U) << "a slot is lost";
  EXPECT_NE(fresh, 0U);
}

TEST(ConcurrentSnapshot, ItsValuesLeadToTheirHandles) {
  shared_ints map(100);
  std::vector<shared_ints::handle_type> all;
  all.reserve(10);
  for (int i = 0; i < 10; ++i) {
    all.push_back(map.emplace(i));
  }
  map.erase(all[0]);
  map.erase(all[9]);
  const auto now = map.snapshot();
  EXPECT_EQ(now.values.size(), 8U);
  std::size_t count = 0;
  for (auto it = now.values.begin(); it != now.values.end(); ++it, ++count) {
    EXPECT_EQ(shared_value(map, it.handle()), *it);
  }
  EXPECT_EQ(count, 8U);
}

TEST(ConcurrentSnapshot, RestoresIntoAMapThatHasBeenUsed) {
  few_shared map(50);
  const auto first = map.emplace(1);
  const saved_shared<int> file(map.snapshot());
  while (map.try_emplace(2)) {
  }
  map.clear();
  while (map.try_emplace(3)) {
  }
  map.clear();
  EXPECT_EQ(map.used_up_slots(), 50U);
  map.restore(file.view());
  EXPECT_EQ(shared_value(map, first), 1);
  EXPECT_EQ(map.size(), 1U);
  EXPECT_EQ(map.used_up_slots(), 50U - file.table.size());
  map.clear();
  EXPECT_TRUE(map.emplace(4)) << "the slot was free in the snapshot's table";
}

/// Returns all handles that a map of ten slots has given and that are stale. Its lowest and highest
/// slots are free, those next to them are used up, and the rest have values.
std::vector<few_shared::handle_type> leave_stale(few_shared& map) {
  std::vector<few_shared::handle_type> all(10);
  for (int i = 0; i < 10; ++i) {
    const auto handle = map.emplace(i);
    all[handle.to_bits() % 16] = handle;
  }
  map.erase(all[1]);
  map.erase(all[8]);
  std::vector<few_shared::handle_type> stale{all[0], all[1], all[8], all[9]};
  stale.push_back(map.emplace(11));
  stale.push_back(map.emplace(18));
  for (const auto& each : stale) {
    map.erase(each);
  }
  return stale;
}

TEST(ConcurrentSnapshot, OfARestoredMapStillKnowsWhichHandlesAreStale) {
  few_shared map(10);
  const auto stale = leave_stale(map);
  EXPECT_EQ(map.used_up_slots(), 2U);
  const saved_shared<int> file(map.snapshot());
  few_shared second(10);
  second.restore(file.view());
  EXPECT_EQ(second.extent(), map.extent());
  const saved_shared<int> again(second.snapshot());
  EXPECT_EQ(again.table, file.table);
  few_shared third(10);
  third.restore(again.view());
  EXPECT_EQ(third.used_up_slots(), 2U);
  for (int i = 0; i < 2; ++i) {
    const auto handle = third.emplace(i);
    EXPECT_EQ(std::count(stale.begin(), stale.end(), handle), 0) << "a handle is given twice";
  }
  EXPECT_FALSE(third.try_emplace(1)) << "all other slots are in use or used up";
  for (const auto& each : stale) {
    EXPECT_FALSE(third.contains(each));
  }
}

TEST(ConcurrentSnapshot, ReplacesReservedHandles) {
  shared_ints from(500);
  const auto kept = from.reserve_handle();
  const auto value = from.emplace(5);
  const std::size_t extent = from.extent();
  ASSERT_LT(extent, 500U);
  shared_ints map(500);
  std::vector<shared_ints::handle_type> lost(500);
  std::generate(lost.begin(), lost.end(), [&] { return map.reserve_handle(); });
  map.restore(from.snapshot());
  EXPECT_EQ(map.size(), 2U);
  EXPECT_EQ(shared_value(map, value), 5);
  for (const auto& each : lost) {
    EXPECT_EQ(map.emplace_at(each, 6), each == kept);
  }
  while (const auto handle = map.try_emplace(7)) {
    EXPECT_TRUE(handle.to_bits() % 512 < extent ||
                std::count(lost.begin(), lost.end(), handle) == 0)
        << "the snapshot has no such slot, but its handle is given twice";
  }
  EXPECT_EQ(map.size(), 500U) << "a slot is lost";
}

TEST(ConcurrentSnapshot, ReplacesReservedHandlesOfUsedUpSlots) {
  concurrent_slot_map<int, test::few_generations<1>> map(20);
  std::vector<decltype(map)::handle_type> lost(20);
  std::generate(lost.begin(), lost.end(), [&] { return map.reserve_handle(); });
  map.restore(concurrent_slot_map<int, test::few_generations<1>>(20).snapshot());
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.used_up_slots(), 20U);
  EXPECT_FALSE(map.reserve_handle());
}

/// Hooks that keep the handle of an insert, and refuse it on request.
struct keeps_refused {
  bool refuse = false;
  std::uint64_t seen = 0;
  template <class T>
  void on_insert(T& /*value*/, slot_handle<T> handle) {
    seen = handle.to_bits();
    if (refuse) {
      throw refused();
    }
  }
};

TEST(ConcurrentSnapshot, KnowsTheHandleOfAnInsertThatItsHookRefused) {
  concurrent_slot_map<int, keeps_refused> map(4);
  map.hooks().refuse = true;
  EXPECT_THROW((void)map.emplace(1), refused);
  concurrent_slot_map<int, keeps_refused> other(4);
  other.restore(map.snapshot());
  EXPECT_NE(other.emplace(1).to_bits(), map.hooks().seen);
}

/// Returns the message of the std::invalid_argument that `body` throws, without the name of the
/// map.
template <class Body>
std::string text_of(const Body& body) {
  try {
    body();
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();
    return text.substr(text.find("': ") + 3);
  }
  return "none";
}

TEST(ConcurrentSnapshot, RefusesWhatIsNoSnapshot) {
  few_shared map(20);
  (void)map.emplace(1);
  (void)map.emplace(2);
  const saved_shared<int> good(map.snapshot());
  few_shared other(20);
  const auto refuses = [&](auto change) {
    saved_shared<int> bad = good;
    change(bad);
    const option_problem problem = other.problem_with(bad.view());
    EXPECT_TRUE(problem);
    EXPECT_EQ(text_of([&] { other.restore(bad.view()); }), problem.text());
    EXPECT_TRUE(other.empty());
  };
  refuses([](auto& s) { s.format = slot_map_format; });
  refuses([](auto& s) { s.format = 0; });
  refuses([](auto& s) { s.max_size = 21; });
  refuses([](auto& s) { s.values.pop_back(); });
  refuses([](auto& s) { s.values.push_back(1); });
  refuses([](auto& s) { s.table.pop_back(); });
  refuses([](auto& s) { s.table.resize(21, 4); });
  refuses([](auto& s) { s.table[0] |= 3U; });
  refuses([](auto& s) { s.table[0] = 1; });
  refuses([](auto& s) { s.table[0] = 3U << 2U | 1U; });
  EXPECT_THROW(other.restore({}), std::invalid_argument);
  EXPECT_FALSE(other.problem_with(good.view()));
  other.restore(good.view());
  EXPECT_EQ(other.size(), 2U);
  EXPECT_EQ(other.problem_with(map.snapshot()).text(), "restore into a map that is not empty");
}

/// A type whose copies throw on request.
struct copied_shared {
  copied_shared() { ++alive; }
  copied_shared(const copied_shared& /*other*/) {
    if (refuse_in > 0 && --refuse_in == 0) {
      throw refused();
    }
    ++alive;
  }
  ~copied_shared() { --alive; }
  static inline int alive = 0;
  static inline int refuse_in = 0;
};

TEST(ConcurrentSnapshot, ARestoreWhoseCopyThrowsChangesNothing) {
  {
    concurrent_slot_map<copied_shared> from(8);
    concurrent_slot_map<copied_shared> map(8);
    const auto reserved = map.reserve_handle();
    for (int i = 0; i < 5; ++i) {
      (void)from.emplace();
    }
    for (int at = 1; at <= 5; ++at) {
      copied_shared::refuse_in = at;
      EXPECT_THROW(map.restore(from.snapshot()), refused);
      EXPECT_EQ(map.size(), 1U) << "the reserved handle";
      EXPECT_EQ(copied_shared::alive, 5);
    }
    EXPECT_TRUE(map.emplace_at(reserved));
    EXPECT_TRUE(map.erase(reserved));
    map.restore(from.snapshot());
    EXPECT_EQ(map.size(), 5U);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(map.try_emplace()) << "a slot is lost";
    }
    EXPECT_FALSE(map.try_emplace());
  }
  EXPECT_EQ(copied_shared::alive, 0);
}

TEST(ConcurrentSnapshot, MovesValuesThatCannotBeCopied) {
  using owned_shared = concurrent_slot_map<std::unique_ptr<int>>;
  owned_shared map(4);
  const auto handle = map.emplace(new int(1));
  const auto now = map.snapshot();
  std::vector<std::unique_ptr<int>> read;
  read.push_back(std::make_unique<int>(2));
  owned_shared other(4);
  other.restore({now.format, now.max_size, read, now.table});
  EXPECT_TRUE(other.read(handle, [](const std::unique_ptr<int>& value) { EXPECT_EQ(*value, 2); }));
}

/// A type that can only be moved, and whose moves throw on request.
struct moved_shared {
  moved_shared() { ++alive; }
  // NOLINTNEXTLINE(performance-noexcept-move-constructor,bugprone-exception-escape): on request
  moved_shared(moved_shared&& /*other*/) {
    if (refuse_in > 0 && --refuse_in == 0) {
      throw refused();
    }
    ++alive;
  }
  ~moved_shared() { --alive; }
  static inline int alive = 0;
  static inline int refuse_in = 0;
};

TEST(ConcurrentSnapshot, ARestoreWhoseMoveThrowsChangesNothing) {
  {
    concurrent_slot_map<moved_shared> from(8);
    for (int i = 0; i < 4; ++i) {
      (void)from.emplace();
    }
    const auto now = from.snapshot();
    std::array<moved_shared, 4> values;
    concurrent_slot_map<moved_shared> map(8);
    for (int at = 1; at <= 4; ++at) {
      moved_shared::refuse_in = at;
      EXPECT_THROW(map.restore({now.format, now.max_size, values, now.table}), refused);
      EXPECT_TRUE(map.empty());
      EXPECT_EQ(moved_shared::alive, 8);
    }
    map.restore({now.format, now.max_size, values, now.table});
    EXPECT_EQ(map.size(), 4U);
    EXPECT_EQ(moved_shared::alive, 12);
    while (map.try_emplace()) {
    }
    EXPECT_EQ(map.size(), 8U) << "a slot is lost";
  }
  EXPECT_EQ(moved_shared::alive, 0);
}

}  // namespace
}  // namespace lido
