#include "lido/object/exhaustion.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <latch>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"

namespace lido {
namespace {

struct drop {
  exhaustion_answer operator()(const exhaustion& /*what*/) const { return exhaustion_answer::drop; }
};

/// Releases what it was given the third time it is asked, and notes what it was told.
struct patient {
  std::vector<std::size_t>* attempts;
  lease<int, object_pool<int, policy::on_exhausted<patient>>>* spare;

  exhaustion_answer operator()(const exhaustion& what) const {
    attempts->push_back(what.attempt);
    if (what.attempt == 3) {
      spare->reset();
    }
    return exhaustion_answer::retry;
  }
};

struct refuse {
  void operator()(const exhaustion& what) const {
    throw std::runtime_error(std::string(what.pool_name) + " " + std::to_string(what.capacity) +
                             " " + std::to_string(what.in_use()));
  }
};

TEST(Exhaustion, NothingToCallIsRefused) {
  using function = std::function<exhaustion_answer(const exhaustion&)>;
  using pointer = exhaustion_answer (*)(const exhaustion&);
  EXPECT_THROW(policy::on_exhausted<function>{function()}, std::invalid_argument);
  EXPECT_THROW(policy::on_exhausted<pointer>{nullptr}, std::invalid_argument);
  const auto drops = [](const exhaustion& /*what*/) { return exhaustion_answer::drop; };
  object_pool<int, policy::on_exhausted<function>> pool({.capacity = 1}, function(drops));
  const auto held = pool.acquire();
  EXPECT_FALSE(pool.acquire());
}

TEST(OnExhausted, DropEndsInAnEmptyLease) {
  object_pool<int, policy::on_exhausted<drop>> pool(2);
  const auto first = pool.acquire(1);
  const auto second = pool.acquire(2);
  EXPECT_FALSE(pool.acquire(3));
  EXPECT_EQ(*second, 2);
}

TEST(OnExhausted, RetryLooksAgainAndCounts) {
  std::vector<std::size_t> attempts;
  lease<int, object_pool<int, policy::on_exhausted<patient>>> held;
  object_pool<int, policy::on_exhausted<patient>> pool({.capacity = 1}, patient{&attempts, &held});
  held = pool.acquire(1);
  const auto second = pool.acquire(2);
  EXPECT_EQ(*second, 2);
  EXPECT_EQ(attempts, (std::vector<std::size_t>{1, 2, 3}));
}

TEST(OnExhausted, WhatItThrowsComesOutAndLosesNothing) {
  object_pool<int, policy::on_exhausted<refuse>> pool({.capacity = 3, .name = "jobs"});
  {
    const auto first = pool.acquire();
    const auto second = pool.acquire();
    const auto third = pool.acquire();
    for (int round = 0; round < 10; ++round) {
      try {
        (void)pool.acquire();
        FAIL() << "the pool had no slot left";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "jobs 3 3");
      }
    }
  }
  EXPECT_EQ(test::count_acquirable(pool), 3U);
}

TEST(OnExhausted, ReturningNothingEndsInPoolExhausted) {
  const auto log = [](const exhaustion& /*what*/) {};
  object_pool<int, policy::on_exhausted<decltype(log)>> pool({.capacity = 1}, log);
  const auto held = pool.acquire();
  EXPECT_THROW((void)pool.acquire(), pool_exhausted);
}

TEST(OnExhausted, ThePoolExhaustedItEndsInTellsOfThePool) {
  const auto log = [](const exhaustion& /*what*/) {};
  object_pool<int, policy::on_exhausted<decltype(log)>> pool({.capacity = 2, .name = "jobs"}, log);
  const auto first = pool.acquire();
  const auto second = pool.acquire();
  try {
    (void)pool.acquire();
    ADD_FAILURE() << "no exception";
  } catch (const pool_exhausted& error) {
    EXPECT_EQ(error.pool_name(), "jobs");
    EXPECT_EQ(error.capacity(), 2U);
    EXPECT_EQ(error.in_use(), 2U);
  }
}

TEST(OnExhausted, TakesALambdaWithAState) {
  int asked = 0;
  const auto count = [&asked](const exhaustion& /*what*/) {
    ++asked;
    return exhaustion_answer::drop;
  };
  object_pool<int, policy::on_exhausted<decltype(count)>> pool({.capacity = 1}, count);
  const auto held = pool.acquire();
  EXPECT_FALSE(pool.acquire());
  EXPECT_EQ(asked, 1);
}

using function = exhaustion_answer (*)(const exhaustion&);
static_assert(!std::is_default_constructible_v<policy::on_exhausted<function>>, "it would be null");
static_assert(std::is_default_constructible_v<policy::on_exhausted<drop>>);

TEST(OnExhausted, TakesAFunction) {
  object_pool<int, policy::on_exhausted<function>> pool(
      {.capacity = 1}, +[](const exhaustion& /*what*/) { return exhaustion_answer::drop; });
  const auto held = pool.acquire();
  EXPECT_FALSE(pool.acquire());
}

TEST(OnExhausted, IsAskedByThreadsAtOnce) {
  constexpr unsigned threads = 3;
  std::latch all_ask(threads);
  const auto meet = [&all_ask](const exhaustion& /*what*/) {
    all_ask.arrive_and_wait();  // for ever, if one were asked after the other
    return exhaustion_answer::drop;
  };
  object_pool<int, policy::on_exhausted<decltype(meet)>> pool({.capacity = 1}, meet);
  const auto held = pool.acquire();
  test::run_crew(threads, [&](unsigned /*thread*/) { EXPECT_FALSE(pool.acquire()); });
  EXPECT_TRUE(all_ask.try_wait());
}

TEST(OnExhausted, IsNotAskedByTryAcquire) {
  object_pool<int, policy::on_exhausted<refuse>> pool(1);
  const auto held = pool.acquire();
  EXPECT_FALSE(pool.try_acquire());
  EXPECT_EQ(pool.try_acquire_ptr(), nullptr);
}

TEST(ExhaustionPolicies, AreOfTheirKind) {
  EXPECT_TRUE(detail::exhaustion_policy<policy::block>);
  EXPECT_TRUE(detail::exhaustion_policy<policy::on_exhausted<drop>>);
  EXPECT_TRUE((detail::pool_waits<policy::no_cache, policy::block>));
  EXPECT_FALSE((detail::pool_waits<policy::fail>));
}

TEST(ExhaustionPolicies, WithoutAStateTakeNoRoom) {
  EXPECT_EQ(sizeof(object_pool<int, policy::on_exhausted<drop>>), sizeof(object_pool<int>));
  EXPECT_EQ(sizeof(object_pool<int, policy::block>), sizeof(object_pool<int>));
}

}  // namespace
}  // namespace lido
