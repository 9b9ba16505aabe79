// A walk over the objects in use, in which its function releases them.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "lido/checked.hpp"
#include "lido/object_pool.hpp"

namespace lido {
namespace {

struct bullet {
  int life = 0;
};
struct walked : pool_traits<bullet> {
  static constexpr bool track_in_use = true;
};
struct walked_and_kept : walked {
  using hooks = keep;
};

template <class Traits>
class ReleaseInWalk : public ::testing::Test {
 protected:
  using pool_type = object_pool<bullet, Traits>;

  static std::vector<bullet*> fill(pool_type& pool, int count) {
    std::vector<bullet*> all;
    for (int i = 0; i < count; ++i) {
      all.push_back(pool.try_acquire_ptr());
      all.back()->life = i % 10;
    }
    return all;
  }
};

struct names_of_walked {
  template <class Traits>
  static std::string GetName(int /*which*/) {  // NOLINT(readability-identifier-naming): gtest's
    if (Traits::checked) {
      return "checked";
    }
    return std::is_same_v<Traits, walked> ? "made" : "kept";
  }
};
using walked_kinds = ::testing::Types<walked, walked_and_kept, checked_traits<bullet>>;
TYPED_TEST_SUITE(ReleaseInWalk, walked_kinds, names_of_walked);

TYPED_TEST(ReleaseInWalk, OfTheVisitedObject) {
  typename TestFixture::pool_type pool(1000);
  this->fill(pool, 1000);
  std::size_t seen = 0;
  pool.for_each_in_use([&](bullet& one) {
    ++seen;
    if (one.life < 5) {
      pool.release(&one);
    }
  });
  EXPECT_EQ(seen, 1000U);
  EXPECT_EQ(pool.stats().in_use, 500U);
  pool.for_each_in_use([&](bullet& one) {
    EXPECT_GE(one.life, 5);
    pool.release(&one);
  });
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TYPED_TEST(ReleaseInWalk, OfOthersWhichAreNotVisitedAnyMore) {
  typename TestFixture::pool_type pool(100);
  const std::vector<bullet*> all = this->fill(pool, 100);
  std::size_t seen = 0;
  pool.for_each_in_use([&](bullet& /*one*/) {
    ++seen;
    pool.release_n(all);
  });
  EXPECT_EQ(seen, 1U);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST(ReleaseInWalkOfAGrowingPool, OfTheVisitedObject) {
  object_pool<bullet, walked> pool({.max_capacity = 100'000, .when_full = when_full::grow});
  for (int i = 0; i < 1000; ++i) {
    pool.try_acquire_ptr()->life = i;
  }
  pool.for_each_in_use([&](bullet& one) { pool.release(&one); });
  EXPECT_EQ(pool.stats().in_use, 0U);
}

}  // namespace
}  // namespace lido
