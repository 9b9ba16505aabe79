#include "lido/object/policy.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include "lido/freelist/boost_stack.hpp"
#include "lido/object_pool.hpp"

namespace lido {
namespace {

using detail::is_cache_policy;
using detail::is_tracking_policy;
using detail::select_policy;

struct out_of_slots : std::exception {
  out_of_slots(std::string name, std::size_t size, std::size_t used)
      : pool(std::move(name)), capacity(size), in_use(used) {}

  std::string pool;
  std::size_t capacity;
  std::size_t in_use;
};

/// An exhaustion policy of the user's own.
struct throw_own_error {
  [[noreturn]] static void on_exhausted(const exhaustion& what) {
    throw out_of_slots(std::string(what.pool_name), what.capacity, what.in_use());
  }
};

/// One that comes back, which leaves acquire without a slot.
struct shrug {
  static void on_exhausted(const exhaustion& /*what*/) {}
};

TEST(SelectPolicy, FindsThePolicyOfItsKind) {
  EXPECT_TRUE((std::is_same_v<select_policy<is_cache_policy, policy::revocable_cache, policy::fail,
                                            policy::no_cache>::type,
                              policy::no_cache>));
}

TEST(SelectPolicy, TakesTheDefaultWithoutOne) {
  EXPECT_TRUE(
      (std::is_same_v<select_policy<is_tracking_policy, policy::untracked, policy::no_cache>::type,
                      policy::untracked>));
}

TEST(Policy, EachIsOfOneKind) {
  EXPECT_TRUE(detail::cache_policy<policy::revocable_cache>);
  EXPECT_TRUE(detail::list_policy<policy::boost_list>);
  EXPECT_TRUE(detail::exhaustion_policy<policy::fail>);
  EXPECT_TRUE(detail::tracking_policy<policy::track_in_use>);
  EXPECT_FALSE(detail::cache_policy<policy::treiber_list>);
  EXPECT_FALSE(detail::pool_policy<int>);
}

TEST(Policy, OrderDoesNotMatter) {
  object_pool<int, policy::track_in_use, policy::no_cache> first(4);
  object_pool<int, policy::no_cache, policy::track_in_use> second(4);
  const auto held = first.acquire(1);
  int visited = 0;
  first.for_each_in_use([&](int /*object*/) { ++visited; });
  second.for_each_in_use([&](int /*object*/) { ++visited; });
  EXPECT_EQ(visited, 1);
}

TEST(Policy, OwnExhaustionPolicyIsTold) {
  object_pool<int, throw_own_error> pool({.capacity = 1, .name = "jobs"});
  const auto held = pool.acquire();
  try {
    const auto never = pool.acquire();
    FAIL() << "the pool had no slot left";
  } catch (const out_of_slots& told) {
    EXPECT_EQ(told.pool, "jobs");
    EXPECT_EQ(told.capacity, 1U);
    EXPECT_EQ(told.in_use, 1U);
  }
}

TEST(Policy, OwnExhaustionPolicyIsNotAskedByTryAcquire) {
  object_pool<int, throw_own_error> pool(1);
  const auto held = pool.acquire();
  EXPECT_FALSE(pool.try_acquire());
}

TEST(Policy, ExhaustionPolicyThatReturnsEndsInPoolExhausted) {
  object_pool<int, shrug> pool(1);
  const auto held = pool.acquire();
  EXPECT_THROW((void)pool.acquire(), pool_exhausted);
}

}  // namespace
}  // namespace lido
