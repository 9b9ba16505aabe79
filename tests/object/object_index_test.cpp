// Indices of objects, and the layout of slots that the reference promises.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lido/base/address.hpp"
#include "lido/object_pool.hpp"
#include "support/drain.hpp"
#include "support/pool_kinds.hpp"

namespace lido {
namespace {

struct of_one_byte {
  char byte;
};
struct of_24_bytes {
  std::array<char, 24> bytes;
};
struct alignas(256) of_four_lines {
  int number;
};

/// An object that knows its index from the start.
struct numbered {
  explicit numbered(const object_pool<numbered>& pool) : number(pool.index_of(this)) {}
  std::uint32_t number;
};

class ObjectIndex : public ::testing::Test,
                    public ::testing::WithParamInterface<test::pool_kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, ObjectIndex, test::pool_kinds, test::pool_kind_name);

template <class Pool>
void expect_layout(Pool& pool, std::size_t capacity) {
  using value_type = typename Pool::value_type;
  const auto all = test::drain(pool);
  ASSERT_EQ(all.size(), capacity);
  std::vector<bool> seen(capacity);
  for (value_type* const object : all) {
    const std::uint32_t index = pool.index_of(object);
    ASSERT_LT(index, capacity);
    EXPECT_FALSE(seen[index]) << index;
    seen[index] = true;
    EXPECT_EQ(&pool.at(index), object);
    EXPECT_EQ(&std::as_const(pool).at(index), object);
    EXPECT_EQ(object - &pool.at(0), static_cast<std::ptrdiff_t>(index)) << "contiguous";
  }
  const auto first = detail::address_bits(&pool.at(0));
  EXPECT_EQ(first % (alignof(value_type) > 64 ? alignof(value_type) : 64), 0U);
  test::release_all(pool, all);
}

TEST_P(ObjectIndex, IsDenseAndTellsTheAddress) {
  for (const std::size_t capacity : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
    test::kind_pool<of_one_byte> of_bytes(capacity);
    expect_layout(of_bytes, capacity);
    test::kind_pool<of_24_bytes> of_odd_size(capacity);
    expect_layout(of_odd_size, capacity);
    test::kind_pool<of_four_lines> aligned(capacity);
    expect_layout(aligned, capacity);
    test::kind_pool<of_24_bytes, test::tracking_traits<of_24_bytes>> tracked(capacity);
    expect_layout(tracked, capacity);
    test::kind_pool<of_24_bytes, test::keeping_traits<of_24_bytes, keep>> kept(capacity);
    expect_layout(kept, capacity);
  }
}

TEST_P(ObjectIndex, StaysTheSameWhileThePoolGrowsAndShrinks) {
  test::kind_pool<of_24_bytes, pool_traits<of_24_bytes>> pool(
      {.max_capacity = 10'000, .when_full = when_full::grow});
  auto first = pool.acquire();
  const std::uint32_t index = pool.index_of(first.get());
  pool.reserve(10'000);
  EXPECT_EQ(&pool.at(index), first.get());
  for (of_24_bytes* const object : test::drain(pool)) {
    EXPECT_LT(pool.index_of(object), 10'000U);
    EXPECT_EQ(&pool.at(pool.index_of(object)), object);
    pool.release(object);
  }
  (void)pool.shrink_to(0);
  EXPECT_EQ(&pool.at(index), first.get());
}

TEST_P(ObjectIndex, IsTheSameForTheNextObjectInTheSlot) {
  test::kind_pool<of_24_bytes> pool(1);
  EXPECT_EQ(pool.index_of(pool.acquire().get()), 0U);
  const auto second = pool.acquire();
  EXPECT_EQ(pool.index_of(second.get()), 0U);
}

TEST(ObjectIndexOf, IsKnownInTheConstructor) {
  object_pool<numbered> pool(5);
  std::array<numbered*, 5> all{};
  ASSERT_EQ(pool.try_acquire_n(all, pool), 5U);
  for (const numbered* const each : all) {
    EXPECT_EQ(each->number, pool.index_of(each));
  }
  pool.release_n(all);
}

}  // namespace
}  // namespace lido
