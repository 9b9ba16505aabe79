// Values that are larger than the stack of the thread that adds them: each is constructed in place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <pthread.h>
#endif

#include <array>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "lido/concurrent_slot_map.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/slot_map.hpp"

namespace lido {
namespace {

constexpr std::size_t stack_bytes = 512 * 1024;

/// Not an aggregate, and moved without its bytes, so that the test is fast.
struct chunk {
  explicit chunk(int number) noexcept : id(number) {}
  chunk(const chunk& other) noexcept : id(other.id) {}
  // Not inlined, or the optimiser would omit the bytes of a value on the stack.
  [[LIDO_NOINLINE]] chunk(chunk&& other) noexcept : id(std::exchange(other.id, -1)) {}
  chunk& operator=(const chunk&) = delete;
  chunk& operator=(chunk&&) = delete;
  ~chunk() = default;

  int id;
  // Never read, nor written.
  std::array<std::byte, 2 * stack_bytes> bytes;  // NOLINT(*-member-init)
};

#ifdef _WIN32  // each new page of the stack is touched in turn there

void on_small_stack(std::function<void()> test) {
  const auto body = [](void* run) -> DWORD {
    (*static_cast<std::function<void()>*>(run))();
    return 0;
  };
  const HANDLE thread =
      ::CreateThread(nullptr, stack_bytes, body, &test, STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
  ASSERT_NE(thread, nullptr);
  EXPECT_EQ(::WaitForSingleObject(thread, INFINITE), WAIT_OBJECT_0);
  ::CloseHandle(thread);
}

#else

void on_small_stack(std::function<void()> test) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, stack_bytes), 0);
  // A guard so large that a value on the stack does not reach other memory.
  ASSERT_EQ(pthread_attr_setguardsize(&attributes, 8 * stack_bytes), 0);
  pthread_t thread{};
  const auto body = [](void* run) -> void* {
    (*static_cast<std::function<void()>*>(run))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, body, &test), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  ASSERT_EQ(pthread_attr_destroy(&attributes), 0);
}

#endif

template <class Map>
std::vector<int> ids_of(Map& map) {
  std::vector<int> found;
  map.for_each([&found](const chunk& one) { found.push_back(one.id); });
  return found;
}

TEST(SlotMapLargeValues, GrowTheMapOnASmallStack) {
  on_small_stack([] {
    slot_map<chunk> map;
    const auto first = map.emplace(0);
    while (map.size() != map.capacity()) {
      map.emplace(static_cast<int>(map.size()));
    }
    const auto copy = map.emplace(*map.find(first));  // of a value in the array that grows
    EXPECT_EQ(map[copy].id, 0);
    EXPECT_EQ(map[first].id, 0);
    EXPECT_GT(map.capacity(), map.size());
  });
}

TEST(SlotMapLargeValues, AreAddedInEveryWayOnASmallStack) {
  on_small_stack([] {
    slot_map<chunk> map({.max_size = 7});
    const auto source = std::make_unique<chunk>(2);
    EXPECT_TRUE(map.try_emplace(1));
    EXPECT_TRUE(map.insert(*source));
    EXPECT_TRUE(map.insert(std::move(*std::make_unique<chunk>(3))));
    EXPECT_TRUE(map.insert_with([](slot_handle<chunk> /*own*/) { return chunk(4); }));
    std::list<chunk> range;
    range.emplace_back(5);
    EXPECT_EQ(map.insert_range(range).size(), 1U);
    const auto erased = map.emplace(6);
    map.erase(erased);
    EXPECT_TRUE(map.emplace_at(erased, 6));
    map.emplace(0);
    const auto less = [](const chunk& a, const chunk& b) { return a.id < b.id; };
    EXPECT_TRUE(map.emplace_or_evict(less, 7));
    EXPECT_THAT(ids_of(map), ::testing::UnorderedElementsAre(1, 2, 3, 4, 5, 6, 7));
  });
}

/// A type without its own heap memory.
struct homeless : chunk {
  using chunk::chunk;
  static void* operator new(std::size_t) = delete;
};

TEST(SlotMapLargeValues, NeedNoOperatorNewOfTheirOwn) {
  on_small_stack([] {
    slot_map<homeless> map({.max_size = 2});
    const auto erased = map.emplace(1);
    map.erase(erased);
    EXPECT_TRUE(map.emplace_at(erased, 1));
    map.emplace(0);
    const auto less = [](const chunk& a, const chunk& b) { return a.id < b.id; };
    EXPECT_TRUE(map.emplace_or_evict(less, 2));
    EXPECT_THAT(ids_of(map), ::testing::UnorderedElementsAre(1, 2));
  });
}

TEST(SlotMapLargeValues, ChangePlacesOnASmallStack) {
  on_small_stack([] {
    slot_map<chunk> map;
    const auto two = map.emplace(2);
    map.emplace(3);
    const auto one = map.emplace(1);
    EXPECT_TRUE(map.swap(one, two));
    EXPECT_THAT(ids_of(map), ::testing::ElementsAre(1, 3, 2));
    map.sort([](const chunk& a, const chunk& b) { return a.id < b.id; });
    EXPECT_THAT(ids_of(map), ::testing::ElementsAre(1, 2, 3));
    EXPECT_EQ(map[one].id, 1);
    EXPECT_EQ(map[two].id, 2);
  });
}

TEST(SecondaryMapLargeValues, AreAddedOnASmallStack) {
  on_small_stack([] {
    slot_map<int> map;
    secondary_map<int, chunk> more;
    const auto first = map.emplace(0);
    const auto second = map.emplace(0);
    const auto source = std::make_unique<chunk>(1);
    EXPECT_EQ(more.insert(first, *source)->id, 1);
    EXPECT_EQ(more.insert(second, *more.find(first))->id, 1);  // of a value in the array that grows
    EXPECT_EQ(more.insert(first, std::move(*std::make_unique<chunk>(2)))->id, 2);
    EXPECT_EQ(more.insert(first, std::move(*more.find(second)))->id, 1);
    EXPECT_EQ(more.size(), 2U);
  });
}

TEST(SlotMapLargeValues, AreAddedToASharedMapOnASmallStack) {
  on_small_stack([] {
    concurrent_slot_map<chunk> map(4);
    const auto source = std::make_unique<chunk>(2);
    EXPECT_TRUE(map.try_emplace(1));
    EXPECT_TRUE(map.insert(*source));
    EXPECT_TRUE(map.insert(std::move(*std::make_unique<chunk>(3))));
    EXPECT_THAT(ids_of(map), ::testing::UnorderedElementsAre(1, 2, 3));
  });
}

}  // namespace
}  // namespace lido
