#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/scripted_hooks.hpp"

namespace lido {
namespace {

using test::tracked;
using kept_pool =
    object_pool<tracked, policy::grow, policy::keep_constructed<test::scripted_hooks>>;

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
  EXPECT_EQ(pool.stats().created, 3 * one);
  EXPECT_EQ(pool.shrink_to(one), one);
  EXPECT_EQ(pool.stats().created, one);
  EXPECT_EQ(tracked::counts().live(), static_cast<int>(one));
}

TEST_F(GrowingKeptObjects, ASegmentThatComesBackHoldsNone) {
  const std::size_t one = segment();
  kept_pool pool(options());
  for (int round = 0; round < 2; ++round) {
    std::vector<kept_pool::lease_type> leases;
    while (leases.size() < 2 * one) {
      leases.push_back(pool.acquire());
    }
    EXPECT_EQ(pool.stats().created, 2 * one);
    leases.clear();
    EXPECT_EQ(pool.shrink_to(0), 0U);
    EXPECT_EQ(pool.stats().created, 0U);
  }
  EXPECT_EQ(tracked::counts().constructed, static_cast<int>(4 * one));
}

TEST_F(GrowingKeptObjects, ObjectInUseKeepsItsSegment) {
  const std::size_t one = segment();
  kept_pool pool(options());
  const auto held = pool.acquire();
  EXPECT_EQ(pool.shrink_to(0), one);
  EXPECT_EQ(held->value(), 7);
  EXPECT_EQ(pool.stats().created, 1U);
}

TEST_F(GrowingKeptObjects, EagerCreationMakesAllThatAreThereAtTheBeginning) {
  kept_pool pool(options(creation::eager));
  EXPECT_EQ(pool.stats().created, pool.capacity());
  pool.reserve(2 * pool.capacity());
  EXPECT_EQ(pool.stats().created, pool.capacity() / 2);
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
