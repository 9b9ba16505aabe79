#include "lido/object/waiting.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/pool_kinds.hpp"
#include "support/tracked_test.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::refused;
using test::tracked;

template <class Pool>
void await_waiting(const Pool& pool, std::size_t count) {
  while (pool.stats().waiting != count) {
    std::this_thread::yield();
  }
}

template <class Kind>
class Waiting : public test::tracked_test {
 protected:
  template <class T>
  using pool_of = typename Kind::template pool<T, policy::block>;
  using pool_type = pool_of<int>;
};
TYPED_TEST_SUITE(Waiting, test::pool_kinds, test::pool_kind_names);

TYPED_TEST(Waiting, TakesWhatIsFreeAtOnce) {
  typename TestFixture::pool_type pool(3);
  const auto first = pool.acquire(1);
  const auto second = pool.acquire_for(1h, 2);
  const auto third = pool.acquire(std::stop_token(), 3);
  EXPECT_EQ(*first + *second + *third, 6);
  EXPECT_EQ(pool.stats().handed_over, 0U);
}

TYPED_TEST(Waiting, AcquireWaitsForARelease) {
  typename TestFixture::pool_type pool(1);
  auto held = pool.acquire(1);
  std::jthread other([&] {
    const auto mine = pool.acquire(2);
    EXPECT_EQ(*mine, 2);
  });
  await_waiting(pool, 1);
  held.reset();
  other.join();
  EXPECT_EQ(pool.stats().handed_over, 1U);
  EXPECT_EQ(pool.stats().waiting, 0U);
}

TYPED_TEST(Waiting, TryAcquireDoesNotWait) {
  typename TestFixture::pool_type pool(1);
  const auto held = pool.acquire();
  EXPECT_FALSE(pool.try_acquire());
  EXPECT_EQ(pool.try_acquire_ptr(), nullptr);
}

TYPED_TEST(Waiting, EndsEmptyWhenTheTimeIsUp) {
  typename TestFixture::pool_type pool(2);
  {
    const auto first = pool.acquire();
    const auto second = pool.acquire();
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(pool.acquire_for(3ms));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 3ms);
    EXPECT_FALSE(pool.acquire_until(std::chrono::steady_clock::now() + 1ms));
    EXPECT_FALSE(pool.acquire_until(std::chrono::system_clock::now() + 1ms));
    EXPECT_EQ(pool.stats().waiting, 0U);
  }
  EXPECT_EQ(test::count_acquirable(pool), 2U);
}

TYPED_TEST(Waiting, WithoutTimeDoesNotWaitButTakesWhatIsFree) {
  typename TestFixture::pool_type pool(1);
  {
    const auto taken = pool.acquire_for(0ms);
    EXPECT_TRUE(taken);
    EXPECT_FALSE(pool.acquire_for(-1h));
    EXPECT_FALSE(pool.acquire_until(std::chrono::steady_clock::time_point::min()));
  }
  EXPECT_TRUE(pool.acquire_until(std::chrono::system_clock::time_point::min()));
}

TYPED_TEST(Waiting, IsServedBeforeTheTimeIsUp) {
  typename TestFixture::pool_type pool(1);
  auto held = pool.acquire(1);
  std::jthread other([&] { EXPECT_TRUE(pool.acquire_for(1h, 2)); });
  await_waiting(pool, 1);
  held.reset();
}

TYPED_TEST(Waiting, StopEndsTheWait) {
  typename TestFixture::pool_type pool(1);
  const auto held = pool.acquire(1);
  std::jthread other([&](const std::stop_token& stop) { EXPECT_FALSE(pool.acquire(stop, 2)); });
  await_waiting(pool, 1);
  other.request_stop();
  other.join();
  EXPECT_EQ(pool.stats().waiting, 0U);
}

TYPED_TEST(Waiting, StoppedBeforeTakesWhatIsFreeAndDoesNotWait) {
  typename TestFixture::pool_type pool(1);
  std::stop_source source;
  source.request_stop();
  const auto taken = pool.acquire(source.get_token(), 1);
  EXPECT_TRUE(taken);
  EXPECT_FALSE(pool.acquire(source.get_token(), 2));
}

TYPED_TEST(Waiting, FirstComeFirstServed) {
  typename TestFixture::pool_type pool(1);
  auto held = pool.acquire(0);
  std::vector<int> served;
  std::vector<std::jthread> crew;
  for (int place = 0; place < 6; ++place) {
    crew.emplace_back([&, place] {
      // Every third one will not be there any more.
      const auto mine = place % 3 == 1 ? pool.acquire_for(1ms, place) : pool.acquire(place);
      if (mine) {
        served.push_back(place);  // one slot: one thread at a time
      }
    });
    if (place % 3 == 1) {
      crew.back().join();
    } else {
      await_waiting(pool, static_cast<std::size_t>(place - (place + 1) / 3 + 1));
    }
  }
  held.reset();
  for (auto& each : crew) {
    if (each.joinable()) {
      each.join();
    }
  }
  EXPECT_EQ(served, (std::vector<int>{0, 2, 3, 5}));
}

TYPED_TEST(Waiting, SlotsReleasedToACacheReachThoseWhoWait) {
  typename TestFixture::pool_type pool(64);
  std::vector<typename TestFixture::pool_type::lease_type> all;
  for (int i = 0; i < 64; ++i) {
    all.push_back(pool.acquire(i));
  }
  std::atomic<int> got{0};
  std::vector<std::jthread> crew;
  for (int i = 0; i < 3; ++i) {
    crew.emplace_back([&] {
      const auto mine = pool.acquire();
      ++got;
      while (got < 3) {
        std::this_thread::yield();
      }
    });
  }
  await_waiting(pool, 3);
  all.resize(64 - 3);
}

TYPED_TEST(Waiting, FreeSlotsInTheCacheOfAThreadThatDoesNothingAreFound) {
  typename TestFixture::pool_type pool(64);
  const test::parked_crew crew(1, [&](unsigned /*index*/) { test::fill_own_cache(pool, 60); });
  std::vector<typename TestFixture::pool_type::lease_type> all;
  for (int i = 0; i < 64; ++i) {
    all.push_back(pool.acquire(i));
  }
  EXPECT_EQ(all.size(), 64U);
}

TYPED_TEST(Waiting, BulkReleaseServesAllWhoWait) {
  typename TestFixture::pool_type pool(8);
  std::vector<int*> all(8);
  ASSERT_EQ(pool.try_acquire_n(all), 8U);
  std::vector<std::jthread> crew;
  for (int i = 0; i < 4; ++i) {
    crew.emplace_back([&] { EXPECT_TRUE(pool.acquire(1)); });
  }
  await_waiting(pool, 4);
  pool.release_n(all);
  crew.clear();
  EXPECT_EQ(test::count_acquirable(pool), 8U);
}

TYPED_TEST(Waiting, ConstructorThatThrowsAfterAWaitPassesTheSlotOn) {
  typename TestFixture::template pool_of<tracked> pool(1);
  auto held = pool.acquire();
  tracked::counts().refuse_at = 1;
  std::jthread first([&] { EXPECT_THROW((void)pool.acquire(), refused); });
  await_waiting(pool, 1);
  std::jthread second([&] { EXPECT_TRUE(pool.acquire()); });
  await_waiting(pool, 2);
  held.reset();
  first.join();
  second.join();
  EXPECT_EQ(test::count_acquirable(pool), 1U);
}

TYPED_TEST(Waiting, MoreThreadsThanSlotsAreAllServed) {
  typename TestFixture::pool_type pool(3);
  std::atomic<int> out{0};
  test::run_crew(8, [&](unsigned me) {
    for (int round = 0; round < 200; ++round) {
      const auto mine = (me + static_cast<unsigned>(round)) % 3 == 0
                            ? pool.acquire_for(std::chrono::microseconds(round), round)
                            : pool.acquire(round);
      if (mine) {
        EXPECT_LE(++out, 3);
        std::this_thread::yield();
        --out;
      }
    }
  });
  EXPECT_EQ(pool.stats().waiting, 0U);
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(test::count_acquirable(pool), 3U);
}

TEST(WaitingPool, PassesAStopTokenOnWhereNobodyWaits) {
  object_pool<std::stop_token> pool(1);
  std::stop_source source;
  const auto token = pool.acquire(source.get_token());
  EXPECT_TRUE(token->stop_possible());
}

}  // namespace
}  // namespace lido
