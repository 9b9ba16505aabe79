#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/pools.hpp"
#include "support/scripted_hooks.hpp"

namespace lido {
namespace {

using test::tracked;
using kept_pool = test::growing_kept_pool<tracked, test::scripted_hooks>;

class GrowingKeptObjects : public test::kept_test {
 protected:
  static object_pool_options options(creation when = creation::lazy) {
    return {.capacity = 1, .max_capacity = 100'000, .creation = when};
  }
  static std::size_t segment() { return kept_pool(options()).capacity(); }
};

TEST_F(GrowingKeptObjects, ObjectsOfASegmentThatGoesAreDestroyed) {
  const std::size_t one = segment();
  kept_pool pool(options());
  {
    std::vector<kept_pool::lease_type> leases;
    while (leases.size() < 3 * one) {
      leases.push_back(pool.acquire());
    }
  }
  EXPECT_EQ(pool.stats().live, 3 * one);
  EXPECT_EQ(pool.shrink_to(one), one);
  EXPECT_EQ(pool.stats().live, one);
  EXPECT_EQ(tracked::counts().live(), static_cast<int>(one));
}

TEST_F(GrowingKeptObjects, OfASegmentThatGoesSlotsWithoutAnObjectDestroyNone) {
  const std::size_t one = segment();
  kept_pool pool(options());
  { const auto first = pool.acquire(); }
  pool.reserve(2 * one);
  EXPECT_EQ(pool.stats().live, 1U);
  EXPECT_EQ(pool.shrink_to(0), 0U);
  EXPECT_EQ(pool.stats().live, 0U);
  EXPECT_EQ(tracked::counts().live(), 0);
}

TEST_F(GrowingKeptObjects, ASegmentThatComesBackHoldsNone) {
  const std::size_t one = segment();
  kept_pool pool(options());
  for (int round = 0; round < 2; ++round) {
    std::vector<kept_pool::lease_type> leases;
    while (leases.size() < 2 * one) {
      leases.push_back(pool.acquire());
    }
    EXPECT_EQ(pool.stats().live, 2 * one);
    leases.clear();
    EXPECT_EQ(pool.shrink_to(0), 0U);
    EXPECT_EQ(pool.stats().live, 0U);
  }
  EXPECT_EQ(tracked::counts().constructed, static_cast<int>(4 * one));
}

TEST_F(GrowingKeptObjects, ObjectInUseKeepsItsSegment) {
  const std::size_t one = segment();
  kept_pool pool(options());
  const auto held = pool.acquire();
  EXPECT_EQ(pool.shrink_to(0), one);
  EXPECT_EQ(held->value(), 7);
  EXPECT_EQ(pool.stats().live, 1U);
}

TEST_F(GrowingKeptObjects, EagerCreationMakesAllThatAreThereAtTheBeginning) {
  kept_pool pool(options(creation::eager));
  EXPECT_EQ(pool.stats().live, pool.capacity());
}

TEST_F(GrowingKeptObjects, EagerCreationMakesAllThatAReserveAdds) {
  const std::size_t one = segment();
  kept_pool pool(options(creation::eager));
  pool.reserve(3 * one);
  EXPECT_EQ(pool.capacity(), 3 * one);
  EXPECT_EQ(pool.stats().live, 3 * one);
  EXPECT_EQ(pool.stats().in_use, 0U);
  (void)pool.shrink_to(one);
  EXPECT_EQ(pool.stats().live, one);
  pool.reserve(2 * one);
  EXPECT_EQ(pool.stats().live, 2 * one);
}

TEST_F(GrowingKeptObjects, ReserveThatKeepsASegmentFillsNoSlotTwice) {
  const std::size_t one = segment();
  kept_pool pool(options(creation::eager));
  std::vector<kept_pool::lease_type> leases;
  while (leases.size() <= one) {
    leases.push_back(pool.acquire());
  }
  leases.erase(leases.begin(), leases.end() - 1);
  EXPECT_EQ(pool.stats().in_use, 1U);
  (void)pool.shrink_to(0);  // all but the segment of the one in use
  pool.reserve(3 * one);
  EXPECT_EQ(pool.stats().live, static_cast<std::size_t>(tracked::counts().live()));
  EXPECT_EQ(leases.front()->value(), 7);
  while (leases.size() < 3 * one) {
    leases.push_back(pool.acquire());
  }
  EXPECT_EQ(pool.capacity(), 3 * one);
  EXPECT_EQ(pool.stats().live, 3 * one);
}

TEST_F(GrowingKeptObjects, ReserveOfALazyPoolMakesNone) {
  kept_pool pool(options());
  pool.reserve(2 * pool.capacity());
  EXPECT_EQ(pool.stats().live, 0U);
}

TEST_F(GrowingKeptObjects, SegmentThatAnAcquireAddsIsFilledAsItIsUsed) {
  const std::size_t one = segment();
  kept_pool pool(options(creation::eager));
  std::vector<kept_pool::lease_type> leases;
  while (leases.size() <= one) {
    leases.push_back(pool.acquire());
  }
  EXPECT_EQ(pool.stats().live, one + 1);
}

TEST_F(GrowingKeptObjects, CreateThatThrowsInAReserveLosesNothing) {
  const std::size_t one = segment();
  kept_pool pool(options(creation::eager));
  script().throw_in_create = static_cast<int>(one) + 11;
  EXPECT_THROW(pool.reserve(3 * one), test::refused);
  // The segment that was being filled remains, with the objects that were created.
  EXPECT_EQ(pool.capacity(), 3 * one);
  EXPECT_EQ(pool.stats().live, 2 * one + 10);
  EXPECT_EQ(pool.stats().live, static_cast<std::size_t>(tracked::counts().live()));
  std::vector<kept_pool::lease_type> leases;
  while (leases.size() < 3 * one) {
    leases.push_back(pool.acquire());
  }
  EXPECT_EQ(pool.capacity(), 3 * one);
  EXPECT_EQ(pool.stats().live, 3 * one);
}

TEST_F(GrowingKeptObjects, EndOfThePoolAddsNoSegment) {
  const std::size_t one = segment();
  {
    kept_pool pool(options());
    (void)pool.acquire();
    EXPECT_EQ(pool.capacity(), one);
  }
  EXPECT_EQ(test::scripted_hooks::state().log, "cadx");
}

}  // namespace
}  // namespace lido
