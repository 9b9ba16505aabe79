#include "lido/concurrency/rmw_counter.hpp"

#include <gtest/gtest.h>

#include "support/crew.hpp"

namespace lido::detail {
namespace {

#if defined(LIDO_COUNT_RMW) && LIDO_COUNT_RMW
constexpr std::uint64_t counted_per_call = 1;
#else
constexpr std::uint64_t counted_per_call = 0;
#endif

TEST(RmwCounter, CountsOnlyInABuildThatAsksForIt) {
  const std::uint64_t before = shared_rmw_count();
  count_shared_rmw();
  EXPECT_EQ(shared_rmw_count() - before, counted_per_call);
}

TEST(RmwCounter, AddsUpWhatAllThreadsDid) {
  const std::uint64_t before = shared_rmw_count();
  test::run_crew(4, [](unsigned /*index*/) {
    for (int i = 0; i < 1000; ++i) {
      count_shared_rmw();
    }
  });
  EXPECT_EQ(shared_rmw_count() - before, 4000 * counted_per_call);
}

}  // namespace
}  // namespace lido::detail
