// All or none: try_acquire_all, with pointers and with leases.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/pool_kinds.hpp"
#include "support/tracked_test.hpp"

namespace lido {
namespace {

using test::refused;
using test::tracked;

class AcquireAll : public test::tracked_test,
                   public ::testing::WithParamInterface<test::pool_kind> {
 protected:
  using pool_type = test::kind_pool<tracked>;
  using lease_type = pool_type::lease_type;
  using int_pool = test::kind_pool<int>;

  /// Some address that is no object's, to see what a call overwrites.
  static tracked* filler() noexcept { return static_cast<tracked*>(static_cast<void*>(&bytes)); }
  static inline std::array<std::byte, sizeof(tracked)> bytes{};
};
INSTANTIATE_TEST_SUITE_P(Kinds, AcquireAll, test::pool_kinds, test::pool_kind_name);

constexpr std::array<std::size_t, 8> sizes{1, 2, 31, 63, 64, 65, 256, 700};

TEST_P(AcquireAll, FillsTheWholeSpan) {
  for (const std::size_t size : sizes) {
    pool_type pool(700);
    std::vector<tracked*> out(size);
    EXPECT_TRUE(pool.try_acquire_all(out, 5));
    EXPECT_EQ(test::count_distinct(out), size);
    EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](auto* one) { return one->value() == 5; }));
    pool.release_n(out);
    EXPECT_EQ(test::count_acquirable(pool), 700U);
  }
}

TEST_P(AcquireAll, TakesNoneIfOneIsMissing) {
  for (const std::size_t size : sizes) {
    pool_type pool(size);
    tracked* const held = pool.try_acquire_ptr();
    std::vector<tracked*> out(size, filler());
    const int constructed = tracked::counts().constructed;
    EXPECT_FALSE(pool.try_acquire_all(out));
    EXPECT_EQ(tracked::counts().constructed, constructed)
        << "nothing may be made before all slots are there";
    EXPECT_EQ(std::count(out.begin(), out.end(), nullptr), static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(pool.stats().in_use, 1U);
    pool.release_n(out);
    pool.release(held);
    EXPECT_TRUE(pool.try_acquire_all(out));
    pool.release_n(out);
  }
}

TEST_P(AcquireAll, OfNothingSucceeds) {
  pool_type pool(2);
  const auto all = test::drain(pool);
  EXPECT_TRUE(pool.try_acquire_all(std::span<tracked*>()));
  EXPECT_TRUE(pool.try_acquire_all(std::span<lease_type>()));
  pool.release_n(all);
}

TEST_P(AcquireAll, OfMoreThanThePoolHasIsRefused) {
  pool_type pool(20);
  std::vector<tracked*> out(21, filler());
  EXPECT_FALSE(pool.try_acquire_all(out));
  EXPECT_EQ(std::count(out.begin(), out.end(), nullptr), 21);
  EXPECT_EQ(test::count_acquirable(pool), 20U);
}

TEST_P(AcquireAll, FindsFreeSlotsInTheCachesOfOtherThreads) {
  int_pool pool(300);
  const test::parked_crew idle(3, [&](unsigned /*thread*/) { test::fill_own_cache(pool, 80); });
  std::vector<int*> out(300);
  ASSERT_TRUE(pool.try_acquire_all(out, default_init));
  EXPECT_EQ(test::count_distinct(out), 300U);
  pool.release_n(out);
}

TEST_P(AcquireAll, GrowsThePool) {
  test::kind_pool<int, pool_traits<int>> pool({.max_capacity = 5000, .when_full = when_full::grow});
  std::vector<int*> out(5000);
  ASSERT_TRUE(pool.try_acquire_all(out));
  pool.release_n(out);
  out.resize(5001);
  EXPECT_FALSE(pool.try_acquire_all(out));
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST_P(AcquireAll, ThrowingConstructorLosesNothingAtAnyPosition) {
  pool_type pool(130);
  for (int position = 1; position <= 130; ++position) {
    std::vector<tracked*> out(130, filler());
    tracked::counts() = {};
    tracked::counts().refuse_at = position;
    EXPECT_THROW((void)pool.try_acquire_all(out), refused);
    EXPECT_EQ(tracked::counts().constructed, position - 1);
    EXPECT_EQ(tracked::counts().live(), 0);
    EXPECT_EQ(std::count(out.begin(), out.end(), nullptr), 130);
    EXPECT_EQ(pool.stats().in_use, 0U) << "position " << position;
  }
  EXPECT_EQ(test::count_acquirable(pool), 130U);
}

TEST_P(AcquireAll, LeasesOfAThrowingConstructorAreEmpty) {
  pool_type pool(70);
  for (int position = 1; position <= 70; ++position) {
    std::vector<lease_type> out(70);
    out[3] = pool.acquire(1);
    tracked::counts().refuse_at = position;
    EXPECT_THROW((void)pool.try_acquire_all(out), refused);
    EXPECT_EQ(std::count(out.begin(), out.end(), nullptr), 70);
    EXPECT_EQ(pool.stats().in_use, 0U) << "position " << position;
  }
  EXPECT_EQ(test::count_acquirable(pool), 70U);
}

TEST_P(AcquireAll, ReleasesTheLeasesThatItReplaces) {
  pool_type pool(20);
  std::vector<lease_type> out(20);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(pool.try_acquire_all(out, round));
    EXPECT_EQ(out.back()->value(), round);
    EXPECT_EQ(tracked::counts().live(), 20);
  }
  out.emplace_back();
  EXPECT_FALSE(pool.try_acquire_all(out));
  EXPECT_EQ(std::count(out.begin(), out.end(), nullptr), 21);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST_P(AcquireAll, IsTracked) {
  test::kind_pool<tracked, test::tracking_traits<tracked>> pool(50);
  std::vector<tracked*> out(20);
  ASSERT_TRUE(pool.try_acquire_all(out));
  std::size_t visited = 0;
  pool.for_each_in_use([&](const tracked& /*object*/) { ++visited; });
  EXPECT_EQ(visited, 20U);
  pool.release_n(out);
}

// A thread that collects slots for more than there are must not take any from a thread whose demand
// is within the capacity, and each burst is whole.
TEST_P(AcquireAll, DemandOfExactlyTheCapacityIsAlwaysMet) {
  constexpr unsigned threads = 4;
  int_pool pool(std::size_t{threads} * 16);
  std::array<unsigned, threads> failures{};
  test::run_crew(threads, [&](unsigned self) {
    std::array<int*, 16> out{};
    for (int round = 0; round < 20'000; ++round) {
      if (!pool.try_acquire_all(out, static_cast<int>(self))) {
        ++failures.at(self);
      }
      pool.release_n(out);
    }
  });
  EXPECT_EQ(std::accumulate(failures.begin(), failures.end(), 0U), 0U);
  EXPECT_EQ(test::count_acquirable(pool), threads * 16U);
}

TEST_P(AcquireAll, DemandAboveTheCapacityLosesAndDoublesNothing) {
  constexpr unsigned threads = 4;
  int_pool pool(20);
  test::release_all(pool, test::drain(pool));
  std::array<unsigned, threads> wrong{};
  test::run_crew(threads, [&](unsigned self) {
    std::array<int*, 9> out{};
    const int mark = static_cast<int>(self);
    const auto is_wrong = [&](const int* one, bool all) {
      return all ? one == nullptr || *one != mark : one != nullptr;
    };
    for (int round = 0; round < 20'000; ++round) {
      const bool all = pool.try_acquire_all(out, mark);
      wrong.at(self) += static_cast<unsigned>(
          std::count_if(out.begin(), out.end(), [&](int* one) { return is_wrong(one, all); }));
      pool.release_n(out);
    }
  });
  EXPECT_EQ(std::accumulate(wrong.begin(), wrong.end(), 0U), 0U);
  EXPECT_EQ(test::count_acquirable(pool), 20U);
}

}  // namespace
}  // namespace lido
