#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "lido/checked.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/misuse_log.hpp"
#include "support/pool_kinds.hpp"
#include "support/sanitizers.hpp"
#include "support/tracked_test.hpp"

namespace lido {
namespace {

using test::tracked;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct wide {
  std::array<std::int64_t, 8> words;
};

/// Each misuse once, for every kind of pool, with a handler that returns.
class CheckedMisuse : public ::testing::TestWithParam<test::pool_kind> {
 protected:
  using pool_type = test::kind_pool<wide, checked_traits<wide>>;

  test::misuse_log log_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, CheckedMisuse, test::pool_kinds, test::pool_kind_name);

TEST_P(CheckedMisuse, DoubleReleaseIsReportedAndWithoutEffect) {
  pool_type pool({.capacity = 32, .name = "jobs"});
  wide* const object = pool.try_acquire_ptr();
  pool.release(object);
  pool.release(object);
  ASSERT_THAT(log_.kinds(), ElementsAre(misuse_kind::double_release));
  EXPECT_EQ(log_.entries()[0].pool_name, "jobs");
  EXPECT_EQ(log_.entries()[0].object, object);
  EXPECT_EQ(test::count_acquirable(pool), 32U);
}

TEST_P(CheckedMisuse, PointerIntoASlotIsReportedAndWithoutEffect) {
  pool_type pool(32);
  wide* const object = pool.try_acquire_ptr();
  void* const inside = reinterpret_cast<std::byte*>(object) + 8;
  pool.release(static_cast<wide*>(inside));
  EXPECT_THAT(log_.kinds(), ElementsAre(misuse_kind::inside_slot));
  EXPECT_EQ(pool.stats().in_use, 1U);
  pool.release(object);
  EXPECT_EQ(test::count_acquirable(pool), 32U);
}

TEST_P(CheckedMisuse, ForeignPointerIsReportedAndWithoutEffect) {
  pool_type pool(32);
  wide stranger{};
  pool.release(&stranger);
  EXPECT_THAT(log_.kinds(), ElementsAre(misuse_kind::foreign_pointer));
  EXPECT_EQ(test::count_acquirable(pool), 32U);
}

TEST_P(CheckedMisuse, TheHandlerIsToldTheWholeNameOfAPoolThatIsAlive) {
  const std::string name(200, 'p');
  pool_type pool({.capacity = 32, .name = name});
  wide stranger{};
  pool.release(&stranger);
  ASSERT_THAT(log_.kinds(), ElementsAre(misuse_kind::foreign_pointer));
  EXPECT_EQ(log_.entries()[0].pool_name, name);
  EXPECT_THAT(log_.entries()[0].report, HasSubstr("pool '" + name + "'"));
}

TEST_P(CheckedMisuse, WrongPoolIsReportedWithTheNameOfTheRightOne) {
  pool_type pool({.capacity = 32, .name = "jobs"});
  pool_type other({.capacity = 32, .name = "particles"});
  wide* const object = other.try_acquire_ptr();
  pool.release(object);
  ASSERT_THAT(log_.kinds(), ElementsAre(misuse_kind::wrong_pool));
  EXPECT_EQ(log_.entries()[0].pool_name, "jobs");
  EXPECT_THAT(log_.entries()[0].report, HasSubstr("pool 'particles'"));
  EXPECT_EQ(other.stats().in_use, 1U);
  other.release(object);
  EXPECT_EQ(test::count_acquirable(pool), 32U);
  EXPECT_EQ(test::count_acquirable(other), 32U);
}

TEST_P(CheckedMisuse, ReleaseToADeadPoolIsReportedWithItsName) {
  alignas(pool_type) std::array<std::byte, sizeof(pool_type)> storage;
  auto* const pool = ::new (storage.data()) pool_type({.capacity = 4, .name = "gone"});
  wide* const object = pool->try_acquire_ptr();
  pool->release(object);
  std::destroy_at(pool);
  pool->release(object);  // NOLINT: that is the misuse
  ASSERT_THAT(log_.kinds(), ElementsAre(misuse_kind::dead_pool));
  EXPECT_EQ(log_.entries()[0].pool_name, "gone");
}

TEST_P(CheckedMisuse, AcquireFromADeadPoolIsReportedAndGetsNothing) {
  alignas(pool_type) std::array<std::byte, sizeof(pool_type)> storage;
  auto* const pool = ::new (storage.data()) pool_type({.capacity = 4, .name = "gone"});
  std::destroy_at(pool);
  EXPECT_EQ(pool->try_acquire_ptr(), nullptr);  // NOLINT: that is the misuse
  EXPECT_FALSE(pool->try_acquire());            // NOLINT: as above
  std::array<wide*, 2> some{};
  EXPECT_EQ(pool->try_acquire_n(some), 0U);  // NOLINT: as above
  ASSERT_THAT(log_.kinds(),
              ElementsAre(misuse_kind::dead_pool, misuse_kind::dead_pool, misuse_kind::dead_pool));
  EXPECT_EQ(log_.entries()[0].pool_name, "gone");
  EXPECT_EQ(log_.entries()[0].object, nullptr);
  EXPECT_THAT(log_.entries()[0].report,
              HasSubstr("which has ended: dead pool\n  acquire by thread"));
}

TEST_P(CheckedMisuse, BulkAcquireFromADeadPoolIsReportedOnce) {
  alignas(pool_type) std::array<std::byte, sizeof(pool_type)> storage;
  auto* const pool = ::new (storage.data()) pool_type(1000);
  std::destroy_at(pool);
  std::size_t reports = 0;
  for (const std::size_t size : {1U, 2U, 40U, 700U}) {
    std::vector<wide*> some(size);
    EXPECT_EQ(pool->try_acquire_n(some), 0U);  // NOLINT: that is the misuse
    EXPECT_EQ(log_.kinds().size(), ++reports) << size;
    EXPECT_FALSE(pool->try_acquire_all(some));  // NOLINT: as above
    EXPECT_EQ(log_.kinds().size(), ++reports) << size;
  }
}

TEST_P(CheckedMisuse, ObjectOfADeadPoolIsReportedWithItsName) {
  pool_type pool({.capacity = 1, .name = "jobs"});
  wide* object = nullptr;
  {
    pool_type dead({.capacity = 5000, .name = "gone"});
    object = dead.try_acquire_ptr();
    dead.release(object);
  }
  pool.release(object);
  ASSERT_THAT(log_.kinds(), ElementsAre(misuse_kind::dead_pool));
  EXPECT_EQ(log_.entries()[0].pool_name, "jobs");
  EXPECT_THAT(log_.entries()[0].report, HasSubstr("pool 'gone'"));
}

TEST_P(CheckedMisuse, ObjectsOfSeveralDeadPoolsAreReportedWithTheirNames) {
  pool_type pool({.capacity = 1, .name = "jobs"});
  std::array<wide*, 2> objects{};
  {
    pool_type first({.capacity = 5000, .name = "first"});
    pool_type second({.capacity = 5000, .name = "second"});
    objects = {first.try_acquire_ptr(), second.try_acquire_ptr()};
    first.release(objects[0]);
    second.release(objects[1]);
  }
  pool.release(objects[0]);
  pool.release(objects[1]);
  ASSERT_THAT(log_.kinds(), ElementsAre(misuse_kind::dead_pool, misuse_kind::dead_pool));
  EXPECT_THAT(log_.entries()[0].report, HasSubstr("pool 'first'"));
  EXPECT_THAT(log_.entries()[1].report, HasSubstr("pool 'second'"));
}

#if !LIDO_TEST_ASAN  // which ends the program at the write itself; see the death tests

TEST_P(CheckedMisuse, WriteAfterReleaseIsFoundByTheNextAcquire) {
  pool_type pool(1);
  wide* const object = pool.try_acquire_ptr();
  pool.release(object);
  object->words[3] = 7;
  wide* const again = pool.try_acquire_ptr();
  ASSERT_EQ(again, object);
  ASSERT_THAT(log_.kinds(), ElementsAre(misuse_kind::write_after_release));
  EXPECT_THAT(log_.entries()[0].report, HasSubstr("from byte 24: 0x7 0x0"));
  EXPECT_EQ(again->words[3], 0);
  pool.release(again);
}

TEST_P(CheckedMisuse, WriteAfterReleaseIsFoundAtTheEnd) {
  {
    pool_type pool({.capacity = 4, .name = "jobs"});
    wide* const object = pool.try_acquire_ptr();
    pool.release(object);
    object->words[7] = 7;
    EXPECT_THAT(log_.kinds(), IsEmpty());
  }
  ASSERT_THAT(log_.kinds(), ElementsAre(misuse_kind::write_after_release));
  EXPECT_EQ(log_.entries()[0].pool_name, "jobs");
}

TEST_P(CheckedMisuse, WriteToASlotThatWasNeverAcquiredIsFound) {
  pool_type pool(2);
  wide* const object = pool.try_acquire_ptr();
  wide* const neighbour = pool.owns(object + 1) ? object + 1 : object - 1;
  neighbour->words[0] = 1;
  wide* const second = pool.try_acquire_ptr();
  EXPECT_EQ(second, neighbour);
  EXPECT_THAT(log_.kinds(), ElementsAre(misuse_kind::write_after_release));
  pool.release(object);
  pool.release(second);
}

#endif

TEST_P(CheckedMisuse, LeaksAreReportedWithTheThreadThatAcquired) {
  {
    pool_type pool({.capacity = 32, .name = "jobs"});
    for (int i = 0; i < 10; ++i) {
      (void)pool.try_acquire_ptr();
    }
  }
  ASSERT_THAT(log_.kinds(), ElementsAre(misuse_kind::leak));
  EXPECT_EQ(log_.entries()[0].pool_name, "jobs");
  EXPECT_EQ(log_.entries()[0].count, 10U);
  EXPECT_THAT(log_.entries()[0].report, HasSubstr("ends with 10 of 32 objects in use"));
  EXPECT_THAT(log_.entries()[0].report, HasSubstr("acquired by thread "));
  EXPECT_THAT(log_.entries()[0].report, HasSubstr("and 2 more"));
}

TEST_P(CheckedMisuse, BulkReleaseRefusesWhatIsWrongAndTakesTheRest) {
  pool_type pool(300);
  std::array<wide*, 300> all{};
  ASSERT_EQ(pool.try_acquire_n(all), 300U);
  wide stranger{};
  std::array<wide*, 302> given{};
  std::copy(all.begin(), all.end(), given.begin());
  given[300] = all[5];
  given[301] = &stranger;
  pool.release_n(given);
  EXPECT_THAT(log_.kinds(), ElementsAre(misuse_kind::double_release, misuse_kind::foreign_pointer));
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(test::count_acquirable(pool), 300U);
}

TEST_P(CheckedMisuse, OfTwoThreadsThatReleaseTheSameOneIsReported) {
  constexpr int rounds = 1000;
  pool_type pool(8);
  wide* object = nullptr;
  std::barrier both(2);
  test::run_crew(2, [&](unsigned self) {
    for (int round = 0; round < rounds; ++round) {
      if (self == 0) {
        object = pool.try_acquire_ptr();
      }
      both.arrive_and_wait();
      pool.release(object);
      both.arrive_and_wait();
    }
  });
  EXPECT_EQ(log_.entries().size(), std::size_t{rounds});
  for (const auto& entry : log_.entries()) {
    ASSERT_EQ(entry.kind, misuse_kind::double_release);
  }
  EXPECT_EQ(test::count_acquirable(pool), 8U);
}

// ---- independent of the kind of pool ------------------------------------------------------------

class CheckedRelease : public test::tracked_test {
 protected:
  test::misuse_log log_;
};

TEST_F(CheckedRelease, RefusedDestroysNothing) {
  object_pool<tracked, checked_traits<tracked>> pool(4);
  object_pool<tracked, checked_traits<tracked>> other(4);
  tracked* const object = pool.try_acquire_ptr(1);
  other.release(object);
  EXPECT_EQ(tracked::counts().destroyed, 0);
  pool.release(object);
  pool.release(object);
  EXPECT_EQ(tracked::counts().destroyed, 1);
  EXPECT_THAT(log_.kinds(), ElementsAre(misuse_kind::wrong_pool, misuse_kind::double_release));
}

TEST_F(CheckedRelease, OfALeaseWhoseObjectWasReleasedIsReported) {
  object_pool<int, checked_traits<int>> pool(4);
  {
    const auto lease = pool.acquire();
    pool.release(lease.get());
  }
  EXPECT_THAT(log_.kinds(), ElementsAre(misuse_kind::double_release));
}

TEST_F(CheckedRelease, AfterThePoolsMemoryServesAnotherPoolIsReported) {
  std::optional<object_pool<int, checked_traits<int>>> pool;
  pool.emplace(object_pool_options{.capacity = 9000, .name = "first"});
  int* const object = pool->try_acquire_ptr();
  pool->release(object);
  pool.emplace(object_pool_options{.capacity = 3, .name = "second"});
  pool->release(object);
  ASSERT_EQ(log_.entries().size(), 1U);
  // If the second pool got the memory of the first, it is a slot that was never acquired.
  EXPECT_EQ(log_.entries()[0].pool_name, "second");
}

}  // namespace
}  // namespace lido
