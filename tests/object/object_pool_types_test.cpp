#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/drain.hpp"
#include "support/optimiser.hpp"

namespace lido {
namespace {

struct alignas(512) wide {
  char byte = 'w';
};

struct point {
  int x;
  int y;
};

struct move_only {
  explicit move_only(std::unique_ptr<int> owner) : value(std::move(owner)) {}
  std::unique_ptr<int> value;
};

struct no_default {
  explicit no_default(int number) : value(number) {}
  int value;
};

struct five_bytes {
  std::array<char, 5> bytes;
};

struct address_hider {
  int value = 3;
  int operator&() const { return 0; }  // NOLINT(google-runtime-operator)
};

/// Holds a lease of its own kind, as the nodes of a list do.
struct list_node {
  lease<list_node> next;
};

TEST(ObjectPoolOf, OverAlignedTypesAlignsEachObject) {
  object_pool<wide> pool(9);
  const auto all = test::drain(pool);
  for (const wide* const object : all) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(object) % 512, 0U);
    EXPECT_EQ(object->byte, 'w');
  }
  test::release_all(pool, all);
}

TEST(ObjectPoolOf, MoveOnlyTypesTakesTheArgumentOver) {
  object_pool<move_only> pool(2);
  EXPECT_EQ(*pool.acquire(std::make_unique<int>(8))->value, 8);
}

TEST(ObjectPoolOf, TypesWithoutDefaultConstructorWorks) {
  object_pool<no_default> pool(2);
  EXPECT_EQ(pool.acquire(4)->value, 4);
}

TEST(ObjectPoolOf, BytesHandsOutEachOfThem) {
  object_pool<std::uint8_t> pool(1000);
  const auto all = test::drain(pool);
  EXPECT_EQ(test::count_distinct(all), 1000U);
  for (std::uint8_t* const object : all) {
    EXPECT_TRUE(pool.owns(object));
    pool.release(object);
  }
}

TEST(ObjectPoolOf, OddSizesReturnsEachObjectToItsSlot) {
  object_pool<five_bytes> pool(1000);
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(test::count_acquirable(pool), 1000U);
  }
}

TEST(ObjectPoolOf, AggregatesTakesTheirMembers) {
  object_pool<point> pool(2);
  const auto held = pool.acquire(1, 2);
  EXPECT_EQ(held->x, 1);
  EXPECT_EQ(held->y, 2);
}

TEST(ObjectPoolOf, AggregatesValueInitialisesWithoutArguments) {
  object_pool<point> pool(1);
  *pool.acquire() = {7, 8};
  const auto again = pool.acquire();
  EXPECT_EQ(again->x, 0);
  EXPECT_EQ(again->y, 0);
}

TEST(ObjectPoolOf, TrivialTypesKeepsTheirBytesUnderDefaultInit) {
  object_pool<std::uint64_t> pool(1);
  std::uint64_t* const first = pool.try_acquire_ptr(std::uint64_t{0x0123'4567'89AB'CDEF});
  test::keep_bytes(first);  // the bytes must survive optimisation
  pool.release(first);
  std::uint64_t* const second = pool.try_acquire_ptr(default_init);
  test::keep_bytes(second);
  EXPECT_EQ(second, first);
  EXPECT_EQ(*second, 0x0123'4567'89AB'CDEFU);
  pool.release(second);
}

TEST(ObjectPoolOf, ClassesConstructsThemUnderDefaultInit) {
  object_pool<std::string> pool(1);
  EXPECT_EQ(*pool.acquire(default_init), "");
}

TEST(ObjectPoolOf, TypesThatHideTheirAddressWorks) {
  object_pool<address_hider> pool(1);
  EXPECT_EQ(pool.acquire()->value, 3);
}

TEST(ObjectPoolOf, NodesReleasesAWholeChain) {
  object_pool<list_node> pool(100);
  lease<list_node> head;
  while (auto next = pool.try_acquire()) {
    next->next = std::move(head);
    head = std::move(next);
  }
  EXPECT_EQ(pool.stats().in_use, 100U);
  head.reset();
  EXPECT_EQ(pool.stats().in_use, 0U);
}

// Each pop assigns to the lease of an object from a lease within that object.
TEST(ObjectPoolOf, NodesPopsTheFirstOfAChain) {
  object_pool<list_node> pool(100);
  lease<list_node> head;
  while (auto next = pool.try_acquire()) {
    next->next = std::move(head);
    head = std::move(next);
  }
  for (std::size_t left = 100; left > 0; --left) {
    EXPECT_EQ(pool.stats().in_use, left);
    head = std::move(head->next);
  }
  EXPECT_FALSE(head);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST(ObjectPoolOf, LeasesSurvivesAMoveToItself) {
  object_pool<int> pool(1);
  lease<int> one = pool.acquire(7);
  lease<int>& same = one;
  one = std::move(same);
  ASSERT_TRUE(one);
  EXPECT_EQ(*one, 7);
}

TEST(ObjectPoolOf, LargeObjectsGivesEachItsOwnMemory) {
  object_pool<std::array<std::uint32_t, 4096>> pool(8);
  const auto all = test::drain(pool);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i]->fill(static_cast<std::uint32_t>(i));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]->front(), i);
    EXPECT_EQ(all[i]->back(), i);
  }
  test::release_all(pool, all);
}

}  // namespace
}  // namespace lido
