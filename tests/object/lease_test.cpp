#include "lido/object/lease.hpp"

#include <gtest/gtest.h>

#include <compare>
#include <functional>
#include <map>
#include <set>
#include <thread>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/tracked_test.hpp"

namespace lido {
namespace {

using test::tracked;

class Lease : public test::tracked_test {
 protected:
  object_pool<tracked>& pool() { return pool_; }

 private:
  object_pool<tracked> pool_{8};
};

TEST_F(Lease, DefaultConstructedIsEmpty) {
  const lease<tracked> empty;
  EXPECT_FALSE(empty);
  EXPECT_EQ(empty.get(), nullptr);
}

TEST_F(Lease, GivesAccessToItsObject) {
  const lease<tracked> held = pool().acquire(5);
  EXPECT_TRUE(held);
  EXPECT_EQ(held->value(), 5);
  EXPECT_EQ((*held).value(), 5);
  EXPECT_EQ(held.get(), &*held);
}

TEST_F(Lease, DestructionReleasesTheObject) {
  {
    const auto held = pool().acquire(5);
    EXPECT_EQ(tracked::counts().live(), 1);
  }
  EXPECT_EQ(tracked::counts().live(), 0);
  EXPECT_EQ(pool().stats().in_use, 0U);
}

TEST_F(Lease, DestructionOfAnEmptyOneDoesNothing) {
  { const lease<tracked> empty; }
  EXPECT_EQ(tracked::counts().destroyed, 0);
}

TEST_F(Lease, MovingTakesTheObjectAlong) {
  auto first = pool().acquire(5);
  const tracked* const object = first.get();
  const auto second = std::move(first);
  EXPECT_EQ(second.get(), object);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): a moved-from lease is empty
  EXPECT_EQ(tracked::counts().constructed, 1);
}

TEST_F(Lease, MoveAssignmentReleasesWhatWasHeld) {
  auto first = pool().acquire(5);
  auto second = pool().acquire(6);
  second = std::move(first);
  EXPECT_EQ(second->value(), 5);
  EXPECT_EQ(tracked::counts().live(), 1);
}

TEST_F(Lease, MoveAssignmentOfAnEmptyOneReleases) {
  auto held = pool().acquire(5);
  held = lease<tracked>();
  EXPECT_FALSE(held);
  EXPECT_EQ(tracked::counts().live(), 0);
}

TEST_F(Lease, MoveAssignmentToItselfKeepsTheObject) {
  auto held = pool().acquire(5);
  auto& same = held;
  held = std::move(same);
  EXPECT_TRUE(held);
  EXPECT_EQ(tracked::counts().live(), 1);
}

TEST_F(Lease, MoveAssignmentBetweenPoolsReleasesToTheRightOnes) {
  object_pool<tracked> other(4);
  auto here = pool().acquire(5);
  here = other.acquire(6);
  EXPECT_EQ(pool().stats().in_use, 0U);
  EXPECT_EQ(other.stats().in_use, 1U);
  here.reset();
  EXPECT_EQ(other.stats().in_use, 0U);
}

TEST_F(Lease, SwapExchangesTheObjects) {
  auto first = pool().acquire(5);
  auto second = pool().acquire(6);
  std::swap(first, second);
  EXPECT_EQ(first->value(), 6);
  EXPECT_EQ(second->value(), 5);
}

TEST_F(Lease, ResetReleasesOnce) {
  auto held = pool().acquire(5);
  held.reset();
  EXPECT_FALSE(held);
  EXPECT_EQ(tracked::counts().destroyed, 1);
  held.reset();
  EXPECT_EQ(tracked::counts().destroyed, 1);
}

TEST_F(Lease, DetachKeepsTheObjectAcquired) {
  auto held = pool().acquire(5);
  tracked* const object = held.detach();
  EXPECT_FALSE(held);
  EXPECT_EQ(object->value(), 5);
  EXPECT_EQ(pool().stats().in_use, 1U);
  pool().release(object);
}

TEST_F(Lease, DetachOfAnEmptyOneReturnsNull) {
  lease<tracked> empty;
  EXPECT_EQ(empty.detach(), nullptr);
}

TEST_F(Lease, ManyLiveInAVector) {
  std::vector<lease<tracked>> leases;
  leases.reserve(8);
  for (int i = 0; i < 8; ++i) {
    leases.push_back(pool().acquire(i));
  }
  leases.erase(leases.begin() + 2);
  EXPECT_EQ(tracked::counts().live(), 7);
  leases.clear();
  EXPECT_EQ(tracked::counts().live(), 0);
}

TEST_F(Lease, MayEndInAnotherThread) {
  std::jthread([held = pool().acquire(5)] { EXPECT_EQ(held->value(), 5); }).join();
  EXPECT_EQ(pool().stats().in_use, 0U);
}

TEST_F(Lease, OfNullIsEmpty) {
  lease<tracked> held = nullptr;
  EXPECT_TRUE(held == nullptr);
  held = pool().acquire(5);
  EXPECT_TRUE(held != nullptr);
  EXPECT_TRUE(nullptr != held);
  held = nullptr;
  EXPECT_TRUE(nullptr == held);
  EXPECT_EQ(tracked::counts().live(), 0);
  held = nullptr;
  held = {};
  EXPECT_FALSE(held);
}

TEST_F(Lease, SwapsWithoutATemporary) {
  object_pool<tracked> other(4);
  auto first = pool().acquire(5);
  auto second = other.acquire(6);
  first.swap(second);
  EXPECT_EQ(first->value(), 6);
  using std::swap;
  swap(first, second);
  EXPECT_EQ(first->value(), 5);
  first.swap(first);
  EXPECT_EQ(first->value(), 5);
  lease<tracked> empty;
  first.swap(empty);
  EXPECT_FALSE(first);
  empty.reset();
  second.reset();
  EXPECT_EQ(pool().stats().in_use, 0U);
  EXPECT_EQ(other.stats().in_use, 0U);
}

TEST_F(Lease, ComparesByTheAddressOfItsObject) {
  object_pool<tracked> other(4);
  const auto first = pool().acquire(5);
  const auto second = other.acquire(5);
  const lease<tracked> empty;
  const std::less<> before;
  EXPECT_TRUE(first == first);  // NOLINT(misc-redundant-expression)
  EXPECT_TRUE(first != second);
  EXPECT_TRUE(empty == lease<tracked>());
  EXPECT_EQ(first < second, before(first.get(), second.get()));
  EXPECT_EQ(first > second, before(second.get(), first.get()));
  EXPECT_TRUE(empty < first && first >= empty);
  EXPECT_TRUE((first <=> first) == std::strong_ordering::equal);
}

TEST_F(Lease, IsAKeyOfContainers) {
  std::set<lease<tracked>> ordered;
  std::unordered_set<lease<tracked>> hashed;
  std::map<lease<tracked>, int> map;
  for (int i = 0; i < 2; ++i) {
    ordered.insert(pool().acquire(i));
    hashed.insert(pool().acquire(i));
    map.emplace(pool().acquire(i), i);
  }
  ordered.insert(nullptr);
  EXPECT_EQ(ordered.size(), 3U);
  EXPECT_FALSE(*ordered.begin());
  EXPECT_EQ(hashed.size(), 2U);
  const auto& one = *hashed.begin();
  EXPECT_EQ(std::hash<lease<tracked>>()(one), std::hash<tracked*>()(one.get()));
  EXPECT_EQ(pool().stats().in_use, 6U);
}

TEST_F(Lease, IsTwoWords) {
  EXPECT_EQ(sizeof(lease<tracked>), 2 * sizeof(void*));
}

TEST_F(Lease, IsMoveOnly) {
  EXPECT_FALSE(std::is_copy_constructible_v<lease<tracked>>);
  EXPECT_FALSE(std::is_copy_assignable_v<lease<tracked>>);
  EXPECT_TRUE(std::is_nothrow_move_constructible_v<lease<tracked>>);
  EXPECT_TRUE(std::is_nothrow_move_assignable_v<lease<tracked>>);
  EXPECT_TRUE(std::is_nothrow_swappable_v<lease<tracked>>);
  EXPECT_FALSE((std::is_convertible_v<tracked*, lease<tracked>>));
}

/// A list whose nodes own their successors.
struct node {
  explicit node(int number) : value(number) {}
  int value;
  lease<node> next;
};

TEST(LeaseType, MayBeAMemberOfWhatItOwns) {
  object_pool<node> pool(3);
  {
    auto head = pool.acquire(1);
    head->next = pool.acquire(2);
    head->next->next = pool.acquire(3);
    EXPECT_EQ(head->next->next->value, 3);
  }
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST(LeaseType, IsTheSameWhateverTheOptions) {
  object_pool<int> failing(1);
  object_pool<int> waiting({.capacity = 1, .when_full = when_full::wait});
  object_pool<int> growing({.max_capacity = 10, .when_full = when_full::grow});
  lease<int> held = failing.acquire(1);
  held = waiting.acquire(2);
  held = growing.acquire(3);
  EXPECT_EQ(*held, 3);
  EXPECT_TRUE(failing.try_acquire());
  EXPECT_TRUE(waiting.try_acquire());
}

}  // namespace
}  // namespace lido
