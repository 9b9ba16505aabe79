#include "lido/concurrency/rmw_counter.hpp"

#include <gtest/gtest.h>

#include "support/crew.hpp"

namespace lido::detail {
namespace {

TEST(RmwCounter, CountsEachCall) {
  const std::uint64_t before = shared_rmw_count();
  count_shared_rmw();
  EXPECT_EQ(shared_rmw_count() - before, 1U);
}

TEST(RmwCounter, AddsUpWhatAllThreadsDid) {
  const std::uint64_t before = shared_rmw_count();
  test::run_crew(4, [](unsigned /*index*/) {
    for (int i = 0; i < 1000; ++i) {
      count_shared_rmw();
    }
  });
  EXPECT_EQ(shared_rmw_count() - before, 4000U);
}

}  // namespace
}  // namespace lido::detail
