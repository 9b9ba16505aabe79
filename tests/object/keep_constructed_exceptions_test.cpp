#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lido/checked.hpp"
#include "lido/object_pool.hpp"
#include "support/drain.hpp"
#include "support/misuse_log.hpp"
#include "support/pool_kinds.hpp"
#include "support/sanitizers.hpp"
#include "support/scripted_hooks.hpp"

namespace lido {
namespace {

using test::refused;
using test::scripted_hooks;
using test::tracked;

template <class Kind>
class KeepConstructedExceptions : public test::kept_test {
 protected:
  using pool_type = typename Kind::template pool<tracked, policy::keep_constructed<scripted_hooks>>;
};
TYPED_TEST_SUITE(KeepConstructedExceptions, test::pool_kinds, test::pool_kind_names);

TYPED_TEST(KeepConstructedExceptions, SlotWhoseCreateThrowsIsFreeAndHoldsNothing) {
  typename TestFixture::pool_type pool(2);
  for (int round = 0; round < 10; ++round) {
    tracked::counts().refuse_at = 1;
    EXPECT_THROW((void)pool.acquire(), refused);
    EXPECT_EQ(pool.stats().created, 0U);
  }
  EXPECT_EQ(test::count_acquirable(pool), 2U);
}

TYPED_TEST(KeepConstructedExceptions, ObjectWhoseActivateThrowsIsDestroyed) {
  typename TestFixture::pool_type pool(1);
  pool.acquire().reset();
  this->script().throw_in_activate = 1;
  EXPECT_THROW((void)pool.try_acquire(), refused);
  EXPECT_EQ(this->script().log, "cadax");
  EXPECT_EQ(pool.stats().created, 0U);
  EXPECT_EQ(pool.stats().available(), 1U);
  EXPECT_TRUE(pool.try_acquire());
}

TYPED_TEST(KeepConstructedExceptions, ActivateOfANewObjectMayThrow) {
  typename TestFixture::pool_type pool(1);
  this->script().throw_in_activate = 1;
  EXPECT_THROW((void)pool.try_acquire_ptr(1), refused);
  EXPECT_EQ(this->script().log, "cax");
}

TYPED_TEST(KeepConstructedExceptions, DeactivateThatThrowsRefusesTheObject) {
  typename TestFixture::pool_type pool(1);
  this->script().throw_in_deactivate = 1;
  pool.acquire().reset();
  EXPECT_EQ(this->script().log, "cadx");
  EXPECT_TRUE(pool.try_acquire());
}

TYPED_TEST(KeepConstructedExceptions, BulkAcquireLosesNothingAtAnyPosition) {
  for (int position = 1; position <= 6; ++position) {
    typename TestFixture::pool_type pool(6);
    std::array<tracked*, 6> out{};
    this->script().throw_in_activate = position;
    EXPECT_THROW((void)pool.try_acquire_n(out), refused);
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.stats().created, static_cast<unsigned>(position - 1));
    EXPECT_EQ(test::count_acquirable(pool), 6U);
  }
}

TYPED_TEST(KeepConstructedExceptions, EagerCreationThatThrowsLeavesNothingBehind) {
  for (const int position : {1, 2, 57, 100}) {
    tracked::counts() = {};
    tracked::counts().refuse_at = position;
    EXPECT_THROW(typename TestFixture::pool_type({.capacity = 100, .creation = creation::eager}),
                 refused);
    EXPECT_EQ(tracked::counts().constructed, position - 1);
    EXPECT_EQ(tracked::counts().live(), 0);
  }
}

TEST(KeepConstructedOptions, EagerCreationOfAPoolThatKeepsNothingIsRefused) {
  try {
    const object_pool<int> pool({.capacity = 4, .name = "jobs", .creation = creation::eager});
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("'jobs'"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("creation is eager"));
  }
}

struct quiet_hooks {
  void activate(int& object, int value) noexcept { object = value; }
  static void activate(int& object, long value) { object = static_cast<int>(value); }
};
struct throwing_creation {
  int create() { return 1; }
};

template <class Hooks, class... Args>
constexpr bool acquires_nothrow =
    noexcept(std::declval<object_pool<int, policy::keep_constructed<Hooks>>&>().try_acquire_ptr(
        std::declval<Args>()...));

TEST(KeepConstructedTypes, TryAcquirePtrIsNoexceptWhereTheHooksAre) {
  EXPECT_TRUE(acquires_nothrow<no_hooks>);
  EXPECT_TRUE((acquires_nothrow<quiet_hooks, int>));
  EXPECT_FALSE((acquires_nothrow<quiet_hooks, long>));
  EXPECT_FALSE(acquires_nothrow<throwing_creation>);
}

using test::misuse_log;

class CheckedKeptObjects : public test::kept_test {
 protected:
  using pool_type = object_pool<tracked, policy::checked, policy::keep_constructed<scripted_hooks>>;
};

TEST_F(CheckedKeptObjects, SecondReleaseIsRefusedBeforeAnyHook) {
  const misuse_log log;
  pool_type pool(4);
  auto* const object = pool.try_acquire_ptr();
  pool.release(object);
  pool.release(object);
  EXPECT_EQ(script().log, "cad");
  EXPECT_EQ(log.kinds(), (std::vector{misuse_kind::double_release}));
}

#if !LIDO_TEST_ASAN  // which reports the write itself

TEST_F(CheckedKeptObjects, WriteToAFreeSlotWithoutObjectIsReported) {
  const misuse_log log;
  pool_type pool(1);
  script().refuse = true;
  auto* const object = pool.try_acquire_ptr();
  pool.release(object);
  *static_cast<volatile char*>(static_cast<void*>(object)) = 9;
  pool.acquire().reset();
  EXPECT_EQ(log.kinds(), (std::vector{misuse_kind::write_after_release}));
}

#endif

TEST_F(CheckedKeptObjects, LeakIsReportedAndItsObjectLeftAlone) {
  const misuse_log log;
  {
    pool_type pool(4);
    (void)pool.acquire().detach();
    pool.acquire().reset();
  }
  EXPECT_EQ(log.kinds(), (std::vector{misuse_kind::leak}));
  EXPECT_EQ(tracked::counts().live(), 1);
  tracked::counts() = {};
}

}  // namespace
}  // namespace lido
