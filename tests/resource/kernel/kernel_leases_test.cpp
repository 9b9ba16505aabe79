// Leases that last long: which are reported, and when. docs/reference/tests.md explains the letters
// and numbers in test names.
#include <chrono>

#include "resource/kernel/kernel_fixture.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::fill;
using test::fresh;
using test::kernel;

// HikariCP #738 (E3): a slow lease or a leak?
TEST(KernelLeases, E2E3ALongLeaseIsReportedOnceAndWhenItComesBack) {
  kernel k({.options =
                fresh({.max_size = 1, .report_slow_after = 1000ms, .report_leak_after = 2000ms})});
  fill(k, 1);
  k.acquire_fast('A');
  EXPECT_EQ(k.tick(999), "");
  EXPECT_EQ(k.tick(251), "slow 0");
  EXPECT_EQ(k.tick(250), "");
  EXPECT_EQ(k.tick(500), "leak 0");
  EXPECT_EQ(k.tick(5000), "");
  EXPECT_EQ(k.stats().suspected_leaks, 1);
  EXPECT_EQ(k.release('A'), "returned 0");
  EXPECT_TRUE(k.acquire_fast('A'));
  EXPECT_EQ(k.release('A'), "");
}

TEST(KernelLeases, AReportedLeaseIsReportedAgainHoweverItEnds) {
  kernel k({.options = fresh({.max_size = 3, .report_leak_after = 1000ms})});
  fill(k, 3);
  for (const char name : {'A', 'B', 'C'}) {
    ASSERT_TRUE(k.acquire_fast(name));
  }
  EXPECT_EQ(k.tick(1000), "leak 0; leak 1; leak 2");
  EXPECT_EQ(k.discard('A'), "destroy 0 (discarded); returned 0");
  EXPECT_EQ(k.detach('B'), "returned 1");
  EXPECT_EQ(k.release('C'), "returned 2");
  EXPECT_EQ(k.stats().suspected_leaks, 3);
}

TEST(KernelLeases, AnExtendedLeaseIsReportedLater) {
  kernel k({.options = fresh({.max_size = 2, .report_slow_after = 1000ms})});
  fill(k, 2);
  k.acquire_fast('A');
  k.acquire_fast('B');
  k.extend('A', 1000);
  k.extend('B', kernel::never);
  EXPECT_EQ(k.tick(1999), "");
  EXPECT_EQ(k.tick(251), "slow 0");
  EXPECT_EQ(k.tick(100000), "");
}

TEST(KernelLeases, E5TheLongestLeasesAreKnown) {
  kernel k({.options = fresh({.max_size = 6})});
  fill(k, 6);
  for (char name = 'A'; name < 'G'; ++name) {
    k.acquire_fast(name);
    k.tick(1000);
  }
  k.tick(1000);
  k.tick(1000);
  k.release('B');
  const auto longest = k.longest_leases();
  ASSERT_EQ(longest.size(), 3U);  // four are noted, one has come back
  EXPECT_EQ(longest[0].thread, 1U);
  EXPECT_EQ(longest[1].thread, 3U);
  EXPECT_EQ(longest[0].held_for, 8000ms);
}

}  // namespace
}  // namespace lido
