// Errors of the C interface when memory runs out.
#include <gtest/gtest.h>

#include "lido/lido.h"
#include "support/failing_new.hpp"

namespace lido {
namespace {

using test::allocation_plan;
using test::failing_allocations;

/// Makes a pool while the n-th allocation fails, for each n until none does. Returns how many
/// allocations a pool needs.
long fail_each_allocation(bool sticky, std::size_t flags) {
  lido_pool_options options{};
  options.size = sizeof(options);
  options.block_bytes = 8;
  options.blocks = 1000;
  options.name = "a name that is longer than what a string has room for";
  options.flags = flags;
  for (long n = 1;; ++n) {
    const long before = allocation_plan::outstanding;
    lido_pool* pool = nullptr;
    int error = LIDO_OK;
    {
      const failing_allocations plan(n, sticky);
      error = lido_pool_create(&options, &pool);
    }
    EXPECT_EQ(error == LIDO_OK, pool != nullptr);
    EXPECT_TRUE(error == LIDO_OK || error == LIDO_ERROR_NO_MEMORY) << error;
    EXPECT_EQ(lido_pool_destroy(pool) == LIDO_OK, pool != nullptr);
    EXPECT_EQ(allocation_plan::outstanding, before) << "allocation " << n << " failed";
    if (error == LIDO_OK) {
      return n - 1;
    }
  }
}

TEST(CPoolAllocation, FailedIsACodeAndLeaksNothing) {
  for (const std::size_t flags : {std::size_t{0}, std::size_t{LIDO_POOL_CHECKED}}) {
    EXPECT_GE(fail_each_allocation(/*sticky=*/false, flags), 4);
    EXPECT_GE(fail_each_allocation(/*sticky=*/true, flags), 4);
  }
}

TEST(CPoolAllocation, FailedForACacheDoesNotConcernAcquireAndRelease) {
  lido_pool_options options{};
  options.size = sizeof(options);
  options.block_bytes = 8;
  options.blocks = 100;
  lido_pool* pool = nullptr;
  ASSERT_EQ(lido_pool_create(&options, &pool), LIDO_OK);
  const failing_allocations plan(1, /*sticky=*/true);
  for (int round = 0; round < 10; ++round) {
    void* blocks[100] = {};
    for (void*& block : blocks) {
      block = lido_pool_acquire(pool);
      ASSERT_NE(block, nullptr);
    }
    for (void* const block : blocks) {
      ASSERT_EQ(lido_pool_release(pool, block), LIDO_OK);
    }
  }
  failing_allocations::stop();
  EXPECT_EQ(lido_pool_destroy(pool), LIDO_OK);
}

}  // namespace
}  // namespace lido
