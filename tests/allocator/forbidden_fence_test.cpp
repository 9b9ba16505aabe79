// Caches where the kernel refuses the heavy fence: from the start, or while a pool lives. The
// checks run in new processes, because a process asks the kernel once.
#include <gtest/gtest.h>
#include <linux/membarrier.h>

#include <cstdlib>

#include "support/allocated_slots.hpp"
#include "support/crew.hpp"
#include "support/forbidden_membarrier.hpp"

namespace lido::detail {
namespace {

constexpr std::uint32_t slot_count = 64;

[[noreturn]] void end(bool as_expected) {
  std::exit(as_expected ? 0 : 1);  // NOLINT(concurrency-mt-unsafe): no other thread is left
}

class ForbiddenFenceDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::can_forbid_membarrier() || !test::has_membarrier()) {
      GTEST_SKIP() << "this system has no heavy fence, or cannot forbid it";
    }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

bool find_every_slot_beside_a_parked_cache() {
  test::allocated_slots slots(slot_count, lido::cache_kind::revocable);
  std::size_t found = 0;
  {
    const test::parked_crew crew(
        1, [&](unsigned /*index*/) { slots.release_all(slots.acquire_n(8)); });
    found = slots.acquire_all().size();
  }
  return found == slot_count && slots.pool().stats().heavy_fences == 0;
}

TEST_F(ForbiddenFenceDeathTest, FromTheStartCachesAreLocked) {
  EXPECT_EXIT(
      {
        test::forbid_membarrier(
            {MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, MEMBARRIER_CMD_PRIVATE_EXPEDITED});
        end(find_every_slot_beside_a_parked_cache());
      },
      ::testing::ExitedWithCode(0), "");
}

/// A thief that must not look into a cache leaves all slots there, and reports that it found
/// nothing; the owner keeps its slots.
bool leave_a_cache_alone() {
  test::allocated_slots slots(slot_count, lido::cache_kind::revocable);
  slots.release_all(slots.acquire_n(8));
  const std::size_t cached = slots.pool().stats().cached;
  std::size_t found_by_thief = 0;
  test::run_in_new_thread([&] {
    test::forbid_membarrier({MEMBARRIER_CMD_PRIVATE_EXPEDITED});
    const test::allocated_slots::list loot = slots.acquire_all();
    found_by_thief = loot.size();
    slots.release_all(loot);
  });
  const slot_pool_stats after = slots.pool().stats();
  const bool untouched = after.thefts == 0 && after.heavy_fences > 0;
  return cached > 0 && found_by_thief == slot_count - cached && untouched &&
         slots.acquire_all().size() == slot_count;
}

TEST_F(ForbiddenFenceDeathTest, ForbiddenLaterNoCacheIsLookedInto) {
  EXPECT_EXIT(end(leave_a_cache_alone()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lido::detail
