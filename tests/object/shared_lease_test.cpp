// A lease that becomes a std::shared_ptr. Its allocations are counted, and fail.
#include "lido/shared_lease.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "lido/checked.hpp"
#include "lido/object_pool.hpp"
#include "support/failing_new.hpp"
#include "support/misuse_log.hpp"
#include "support/pool_kinds.hpp"

namespace lido {
namespace {

using test::allocations;
using test::failing_allocations;

struct shape {
  shape() = default;
  shape(const shape&) = delete;
  shape& operator=(const shape&) = delete;
  virtual ~shape() = default;
  [[nodiscard]] virtual int corners() const = 0;
};
struct triangle : shape, std::enable_shared_from_this<triangle> {
  [[nodiscard]] int corners() const override { return 3; }
};

class SharedLease : public ::testing::Test, public ::testing::WithParamInterface<test::pool_kind> {
 protected:
  using pool_type = test::kind_pool<triangle>;
};
INSTANTIATE_TEST_SUITE_P(Kinds, SharedLease, test::pool_kinds, test::pool_kind_name);

TEST_P(SharedLease, TheLastOwnerReleasesTheObject) {
  pool_type pool(2);
  auto held = pool.acquire();
  const triangle* const object = held.get();
  std::shared_ptr<triangle> first = share(std::move(held));
  EXPECT_FALSE(held);  // NOLINT(bugprone-use-after-move): a moved-from lease is empty
  EXPECT_EQ(first.get(), object);
  EXPECT_EQ(first.use_count(), 1);
  std::shared_ptr<triangle> second = first;
  first.reset();
  EXPECT_EQ(pool.stats().in_use, 1U);
  second.reset();
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST_P(SharedLease, OfAnEmptyLeaseIsNull) {
  const auto none = share(pool_type::lease_type());
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(none.use_count(), 0);
}

TEST_P(SharedLease, ConvertsToThatOfABaseClass) {
  pool_type pool(2);
  {
    const std::shared_ptr<const shape> base = share(pool.acquire());
    EXPECT_EQ(base->corners(), 3);
  }
  EXPECT_EQ(pool.stats().in_use, 0U);
}

struct tagged {
  virtual ~tagged() = default;
  int tag = 4;
};
struct tagged_triangle : triangle, tagged {};

TEST_P(SharedLease, ConvertsToThatOfABaseClassInTheMiddleOfTheObject) {
  test::kind_pool<tagged_triangle> pool(2);
  const std::shared_ptr<tagged_triangle> owner = share(pool.acquire());
  std::shared_ptr<tagged> base = owner;
  EXPECT_NE(static_cast<void*>(base.get()), static_cast<void*>(owner.get()));
  EXPECT_EQ(base->tag, 4);
  base = share(pool.acquire());
  EXPECT_EQ(pool.stats().in_use, 2U);
  base.reset();
  EXPECT_EQ(pool.stats().in_use, 1U);
}

TEST_P(SharedLease, OfACheckedPoolIsReportedOnlyIfTheObjectIsGone) {
  const test::misuse_log log;
  test::kind_pool<triangle, checked_traits<triangle>> pool(2);
  auto owner = share(pool.acquire());
  EXPECT_EQ(owner->corners(), 3);
  owner.reset();
  EXPECT_TRUE(log.entries().empty());
  owner = share(pool.acquire());
  pool.release_all();
  owner.reset();
  EXPECT_EQ(log.kinds(), std::vector{misuse_kind::double_release});
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST_P(SharedLease, IsKnownToItsObject) {
  pool_type pool(2);
  auto first = share(pool.acquire());
  auto second = first->shared_from_this();
  EXPECT_EQ(second.use_count(), 2);
}

TEST_P(SharedLease, WeakOwnersDoNotKeepTheSlot) {
  pool_type pool(1);
  auto owner = share(pool.acquire());
  const std::weak_ptr<triangle> weak = owner;
  owner.reset();
  EXPECT_TRUE(weak.expired());
  EXPECT_TRUE(pool.try_acquire());
}

TEST_P(SharedLease, AllocatesOnlyItsControlBlock) {
  pool_type pool(2);
  auto held = pool.acquire();
  const long before = allocations().allocations;
  const auto owner = share(std::move(held));
  EXPECT_EQ(allocations().allocations - before, 1);
}

TEST_P(SharedLease, WithoutMemoryReleasesTheObject) {
  pool_type pool(2);
  auto held = pool.acquire();
  {
    const failing_allocations plan(1, /*sticky=*/true);
    EXPECT_THROW((void)share(std::move(held)), std::bad_alloc);
  }
  EXPECT_FALSE(held);  // NOLINT(bugprone-use-after-move): a moved-from lease is empty
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_TRUE(share(pool.acquire()));
}

TEST_P(SharedLease, MayEndInAnotherThread) {
  pool_type pool(2);
  std::jthread([owner = share(pool.acquire())] { EXPECT_EQ(owner->corners(), 3); }).join();
  EXPECT_EQ(pool.stats().in_use, 0U);
}

}  // namespace
}  // namespace lido
