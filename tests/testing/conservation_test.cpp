#include "lido/testing/conservation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "lido/checked.hpp"
#include "lido/testing.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/misuse_log.hpp"
#include "support/pool_kinds.hpp"

namespace lido::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Conservation : public ::testing::Test,
                     public ::testing::WithParamInterface<test::pool_kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, Conservation, test::pool_kinds, test::pool_kind_name);

TEST_P(Conservation, HoldsForAPoolInUse) {
  test::kind_pool<int> pool(100);
  const auto held = pool.acquire();
  test::fill_own_cache(pool, 60);
  const test::parked_crew crew(3, [&](unsigned /*self*/) { test::fill_own_cache(pool, 20); });
  EXPECT_TRUE(conserved(pool)) << conserved(pool);
  EXPECT_EQ(pool.stats().in_use, 1U);
}

TEST(ConservationArguments, MakeTheObjects) {
  struct needs_value {
    explicit needs_value(int) {}
  };
  object_pool<needs_value> pool(3);
  EXPECT_TRUE(conserved(pool, 7));
}

TEST(ConservationArguments, CostNothingWhenTheyThrow) {
  struct third_throws {
    explicit third_throws(int* made) {
      if (++*made % 3 == 0) {
        throw std::runtime_error("third");
      }
    }
  };
  object_pool<third_throws> pool(8);
  int made = 0;
  EXPECT_THROW((void)conserved(pool, &made), std::runtime_error);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

/// A pool that reports what it is told to, as a broken one might.
class false_pool {
 public:
  using value_type = int;

  [[nodiscard]] int* try_acquire_ptr() { return next < script.size() ? script[next++] : nullptr; }
  void release(int* object) { released.push_back(object); }
  [[nodiscard]] bool owns(const int* object) const { return object != &stranger; }
  [[nodiscard]] slot_pool_stats stats() const { return numbers; }
  [[nodiscard]] std::size_t max_capacity() const { return numbers.capacity; }
  [[nodiscard]] const std::string& name() const { return name_; }

  std::vector<int*> script;
  std::vector<int*> released;
  std::size_t next = 0;
  slot_pool_stats numbers{{.capacity = 2, .in_use = 0, .idle = 2}, /*cached=*/1};
  int one = 0;
  int two = 0;
  int stranger = 0;

 private:
  std::string name_ = "false";
};

class FalsePool : public ::testing::Test {
 protected:
  std::string problem() {
    const verdict found = conserved(pool_);
    EXPECT_FALSE(found);
    EXPECT_EQ(pool_.released, pool_.script);
    return found.problem();
  }

  false_pool pool_;
};

TEST_F(FalsePool, PassesIfAllIsWell) {
  pool_.script = {&pool_.one, &pool_.two};
  EXPECT_TRUE(conserved(pool_)) << conserved(pool_);
}

TEST_F(FalsePool, ALostSlotIsSeen) {
  pool_.script = {&pool_.one};
  EXPECT_THAT(problem(), HasSubstr("pool 'false': 2 slots should be free, but 1 can be acquired"));
}

TEST_F(FalsePool, ASlotTwiceIsSeen) {
  pool_.script = {&pool_.one, &pool_.one};
  EXPECT_THAT(problem(), HasSubstr("1 slots were handed out twice"));
}

TEST_F(FalsePool, AForeignSlotIsSeen) {
  pool_.script = {&pool_.one, &pool_.stranger};
  EXPECT_THAT(problem(), HasSubstr("1 objects are of another pool"));
}

TEST_F(FalsePool, NumbersThatDoNotAddUpAreSeen) {
  pool_.script = {&pool_.one, &pool_.two};
  pool_.numbers.idle = 1;
  EXPECT_THAT(problem(), HasSubstr("do not add up"));
}

TEST(LeakCheck, IsSilentIfNothingLeaks) {
  test::misuse_log log;
  object_pool<int> pool(4);
  const auto held = pool.acquire();
  {
    const leak_check guard(pool);
    const auto lease = pool.acquire();
  }
  EXPECT_THAT(log.kinds(), IsEmpty());
}

TEST(LeakCheck, TellsTheHandlerOfALeak) {
  test::misuse_log log;
  object_pool<int> pool({.capacity = 4, .name = "jobs"});
  int* leaked = nullptr;
  {
    const leak_check guard(pool);
    leaked = pool.try_acquire_ptr();
    EXPECT_EQ(guard.leaked(), 1U);
  }
  ASSERT_THAT(log.kinds(), ElementsAre(misuse_kind::leak));
  EXPECT_EQ(log.entries()[0].count, 1U);
  EXPECT_THAT(log.entries()[0].report, HasSubstr("pool 'jobs': 1 more objects are in use"));
  pool.release(leaked);
}

TEST(LeakCheck, CanBeginAnew) {
  test::misuse_log log;
  object_pool<int> pool(4);
  leak_check guard(pool);
  const auto kept = pool.acquire();
  guard.reset();
  EXPECT_EQ(guard.leaked(), 0U);
}

}  // namespace
}  // namespace lido::testing
