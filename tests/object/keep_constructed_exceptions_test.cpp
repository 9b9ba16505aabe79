#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lido/checked.hpp"
#include "lido/object_pool.hpp"
#include "support/drain.hpp"
#include "support/misuse_log.hpp"
#include "support/pool_kinds.hpp"
#include "support/pools.hpp"
#include "support/sanitizers.hpp"
#include "support/scripted_hooks.hpp"

namespace lido {
namespace {

using test::refused;
using test::scripted_hooks;
using test::tracked;

class KeepConstructedExceptions : public test::kept_test,
                                  public ::testing::WithParamInterface<test::pool_kind> {
 protected:
  using pool_type = test::keeping_pool<tracked, scripted_hooks>;
};
INSTANTIATE_TEST_SUITE_P(Kinds, KeepConstructedExceptions, test::pool_kinds, test::pool_kind_name);

TEST_P(KeepConstructedExceptions, SlotWhoseCreateThrowsIsFreeAndHoldsNothing) {
  pool_type pool(2);
  for (int round = 0; round < 10; ++round) {
    tracked::counts().refuse_at = 1;
    EXPECT_THROW((void)pool.acquire(), refused);
    EXPECT_EQ(pool.stats().live, 0U);
  }
  EXPECT_EQ(test::count_acquirable(pool), 2U);
}

TEST_P(KeepConstructedExceptions, ObjectWhoseActivateThrowsIsDestroyed) {
  pool_type pool(1);
  pool.acquire().reset();
  this->script().throw_in_activate = 1;
  EXPECT_THROW((void)pool.try_acquire(), refused);
  EXPECT_EQ(this->script().log, "cadax");
  EXPECT_EQ(pool.stats().live, 0U);
  EXPECT_EQ(pool.stats().idle, 1U);
  EXPECT_TRUE(pool.try_acquire());
}

TEST_P(KeepConstructedExceptions, ActivateOfANewObjectMayThrow) {
  pool_type pool(1);
  this->script().throw_in_activate = 1;
  EXPECT_THROW((void)pool.try_acquire_ptr(1), refused);
  EXPECT_EQ(this->script().log, "cax");
}

TEST_P(KeepConstructedExceptions, DeactivateThatThrowsRefusesTheObject) {
  pool_type pool(1);
  this->script().throw_in_deactivate = 1;
  pool.acquire().reset();
  EXPECT_EQ(this->script().log, "cadx");
  EXPECT_TRUE(pool.try_acquire());
}

TEST_P(KeepConstructedExceptions, BulkAcquireLosesNothingAtAnyPosition) {
  for (int position = 1; position <= 6; ++position) {
    pool_type pool(6);
    std::array<tracked*, 6> out{};
    this->script().throw_in_activate = position;
    EXPECT_THROW((void)pool.try_acquire_n(out), refused);
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.stats().live, static_cast<unsigned>(position - 1));
    EXPECT_EQ(test::count_acquirable(pool), 6U);
  }
}

TEST_P(KeepConstructedExceptions, EagerCreationThatThrowsLeavesNothingBehind) {
  for (const int position : {1, 2, 57, 100}) {
    tracked::counts() = {};
    tracked::counts().refuse_at = position;
    EXPECT_THROW(pool_type({.capacity = 100, .creation = creation::eager}), refused);
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
    EXPECT_THAT(error.what(), ::testing::HasSubstr("creation::eager needs Traits::hooks"));
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
constexpr bool acquires_nothrow = noexcept(
    std::declval<test::kept_pool_of<int, Hooks>&>().try_acquire_ptr(std::declval<Args>()...));

TEST(KeepConstructedTypes, TryAcquirePtrIsNoexceptWhereTheHooksAre) {
  EXPECT_TRUE(acquires_nothrow<keep>);
  EXPECT_TRUE((acquires_nothrow<quiet_hooks, int>));
  EXPECT_FALSE((acquires_nothrow<quiet_hooks, long>));
  EXPECT_FALSE(acquires_nothrow<throwing_creation>);
}

using test::misuse_log;

template <class T, class Hooks>
struct checked_kept_traits : checked_traits<T> {
  using hooks = Hooks;
};
template <class T, class Hooks>
using checked_pool = object_pool<T, checked_kept_traits<T, Hooks>>;

class CheckedKeptObjects : public test::kept_test {
 protected:
  using pool_type = checked_pool<tracked, scripted_hooks>;
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

#if !LIDO_TEST_ASAN  // it reports the write itself

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

/// An object whose first instance writes past its end.
struct sprawling {
  sprawling() {
    if (std::exchange(first, false)) {
      const volatile auto end = reinterpret_cast<std::uintptr_t>(this + 1);
      *reinterpret_cast<volatile char*>(end) = 9;  // NOLINT(performance-no-int-to-ptr)
    }
  }
  static inline bool first = true;
  std::array<char, 64> bytes{};
};
struct hooks_of_sprawling {
  static void destroy(sprawling& /*object*/) noexcept {}
};

TEST_F(CheckedKeptObjects, EagerCreationReportsAnObjectThatWritesBehindItsEnd) {
  const misuse_log log;
  const checked_pool<sprawling, hooks_of_sprawling> pool(
      {.capacity = 4, .creation = creation::eager});
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
