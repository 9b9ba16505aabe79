// By default each misuse ends the program, with a report that names the pool.
#include <gtest/gtest.h>
#include <linux/membarrier.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>

#include "lido/checked.hpp"
#include "support/crew.hpp"
#include "support/forbidden_membarrier.hpp"
#include "support/sanitizers.hpp"

namespace lido {
namespace {

struct wide {
  std::array<long, 8> words;
};
using checked_pool = object_pool<wide, checked_traits<wide>>;

struct kept_checked : checked_traits<wide> {
  using hooks = keep;
};

TEST(CheckedDeathTest, DoubleRelease) {
  checked_pool pool({.capacity = 4, .name = "jobs"});
  wide* const object = pool.try_acquire_ptr();
  pool.release(object);
  EXPECT_DEATH(pool.release(object), "pool 'jobs': double release");
}

// In a child, no other thread can hold a lock of these pools.
TEST(CheckedDeathTest, ForkedChildMayMakePoolsWhateverOthersWereDoing) {
  std::jthread other([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const checked_pool pool(4);
    }
  });
  for (int round = 0; round < 30; ++round) {
    EXPECT_EXIT(
        {
          ::alarm(20);
          checked_pool own(4);
          own.release(own.try_acquire_ptr());
          std::_Exit(0);
        },
        ::testing::ExitedWithCode(0), "");
  }
}

TEST(CheckedDeathTest, DoubleReleaseByLeaseAndPointer) {
  checked_pool pool({.capacity = 4, .name = "jobs"});
  EXPECT_DEATH(
      {
        const auto lease = pool.acquire();
        pool.release(lease.get());
      },
      "pool 'jobs': double release");
}

TEST(CheckedDeathTest, ForeignPointer) {
  checked_pool pool({.capacity = 4, .name = "jobs"});
  wide stranger{};
  EXPECT_DEATH(pool.release(&stranger),
               "pool 'jobs': foreign pointer\n.*no checked pool has or had it");
}

TEST(CheckedDeathTest, PointerIntoTheMiddleOfASlot) {
  checked_pool pool({.capacity = 4, .name = "jobs"});
  wide* const object = pool.try_acquire_ptr();
  void* const inside = &object->words[1];
  EXPECT_DEATH(pool.release(static_cast<wide*>(inside)),
               "pool 'jobs': pointer inside a slot\n.*byte 8 of slot");
  pool.release(object);
}

TEST(CheckedDeathTest, WrongPool) {
  checked_pool pool({.capacity = 4, .name = "jobs"});
  checked_pool other({.capacity = 4, .name = "particles"});
  wide* const object = other.try_acquire_ptr();
  EXPECT_DEATH(pool.release(object), "pool 'jobs': wrong pool\n.*pool 'particles'");
  other.release(object);
}

TEST(CheckedDeathTest, ReleaseAfterThePoolDied) {
  alignas(checked_pool) std::array<std::byte, sizeof(checked_pool)> storage;
  auto* const pool = ::new (storage.data()) checked_pool({.capacity = 4, .name = "jobs"});
  wide* const object = pool->try_acquire_ptr();
  pool->release(object);
  std::destroy_at(pool);
  EXPECT_DEATH(pool->release(object), "pool 'jobs', which has ended: dead pool");
}

TEST(CheckedDeathTest, WriteAfterRelease) {
  EXPECT_DEATH(
      {
        checked_pool pool({.capacity = 1, .name = "jobs"});
        wide* const object = pool.try_acquire_ptr();
        pool.release(object);
        object->words[3] = 7;
        (void)pool.try_acquire_ptr();
      },
#if LIDO_TEST_ASAN
      "use-after-poison"
#else
      "pool 'jobs': write after release"
#endif
  );
}

TEST(CheckedDeathTest, Leak) {
  EXPECT_DEATH(
      {
        checked_pool pool({.capacity = 4, .name = "jobs"});
        (void)pool.try_acquire_ptr();
      },
      "pool 'jobs' ends with 1 of 4 objects in use");
}

/// Destroys a pool while another thread's cache keeps an object of it, which the destructor must
/// not examine. Returns whether the object was there.
bool leave_a_kept_object_behind() {
  auto pool = std::make_unique<object_pool<wide, kept_checked>>(100);
  const test::parked_crew crew(1, [&](unsigned /*index*/) { pool->acquire()->words[0] = 7; });
  test::forbid_membarrier({MEMBARRIER_CMD_PRIVATE_EXPEDITED});
  const bool was_there = pool->stats().live == 1;
  pool.reset();
  return was_there;
}

TEST(CheckedDeathTest, KeptObjectsThatCannotBeHadAreNotTakenForOverwritten) {
  if (!test::can_forbid_membarrier() || !test::has_membarrier()) {
    GTEST_SKIP() << "this system has no heavy fence, or cannot forbid it";
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread is left
  EXPECT_EXIT(std::exit(leave_a_kept_object_behind() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

#if LIDO_TEST_ASAN

/// Slots of a pool without checks are watched, too, where they are whole granules of the shadow.
TEST(UncheckedPoolDeathTest, UseAfterReleaseIsFoundByAddressSanitizer) {
  object_pool<wide> pool(4);
  wide* const object = pool.try_acquire_ptr();
  pool.release(object);
  EXPECT_DEATH(object->words[3] = 7, "use-after-poison");
}

TEST(UncheckedPoolDeathTest, UseOfASlotThatWasNeverAcquiredIsFoundByAddressSanitizer) {
  object_pool<wide> pool(2);
  wide* const object = pool.try_acquire_ptr();
  wide* const neighbour = pool.owns(object + 1) ? object + 1 : object - 1;
  EXPECT_DEATH(neighbour->words[0] = 7, "use-after-poison");
  pool.release(object);
}

#endif

}  // namespace
}  // namespace lido
