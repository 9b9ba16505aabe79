#include <gtest/gtest.h>

#include "lido/lido.hpp"
#include "odr/second.hpp"

namespace {

TEST(UmbrellaHeader, TwoTranslationUnitsShareAPool) {
  lido::object_pool<int> pool(8);
  const lido::lease<int> here = pool.acquire(1);
  const lido::lease<int> there = second::acquire(pool, 2);
  EXPECT_EQ(*here + *there, 3);
  EXPECT_EQ(pool.stats().in_use, 2U);
}

TEST(UmbrellaHeader, TwoTranslationUnitsAgreeOnTheThreadNumber) {
  lido::object_pool<int> pool(8);
  (void)pool.acquire();
  EXPECT_NE(lido::detail::own_thread_offset(), 0U);
  EXPECT_EQ(&lido::detail::thread_offset, second::thread_offset());
}

}  // namespace
