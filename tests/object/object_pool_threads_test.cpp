#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "lido/concurrency/thread_number.hpp"
#include "lido/object_pool.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/optimiser.hpp"
#include "support/pool_kinds.hpp"

namespace lido {
namespace {

/// An object with plain members: if two threads hold it at once, or it passes between them without
/// an edge, that is a data race.
struct owned {
  unsigned owner;
  unsigned uses;
};

/// Takes possession; returns whether no other thread had it. A checked pool fills free slots.
bool take(owned& object, unsigned me) {
  const bool free = object.owner == 0 || object.owner == 0x1DEADB0B;
  object.owner = me;
  ++object.uses;
  return free;
}

/// Ends possession. The write must survive optimisation, for the next reader of the bytes.
void leave(owned& object) {
  object.owner = 0;
  test::keep_bytes(&object);
}

class ObjectPoolThreads : public ::testing::Test,
                          public ::testing::WithParamInterface<test::pool_kind> {
 protected:
  using pool_type = test::kind_pool<owned>;

  /// Slots keep their bytes under default_init, so each starts and ends without an owner.
  static void disown_all(pool_type& pool) { test::release_all(pool, test::drain(pool)); }

  /// Replaces the held objects one by one; returns how often it got nothing or an owned object.
  static unsigned churn(pool_type& pool, unsigned me, std::size_t hold, unsigned rounds) {
    unsigned failures = 0;
    std::vector<owned*> held(hold);
    for (unsigned round = 0; round < rounds; ++round) {
      owned*& mine = held[(round * 7 + me) % hold];
      if (mine != nullptr) {
        leave(*mine);
        pool.release(mine);
      }
      mine = pool.try_acquire_ptr(default_init);
      failures += mine == nullptr || !take(*mine, me) ? 1 : 0;
    }
    for (owned* const object : held) {
      if (object != nullptr) {
        leave(*object);
        pool.release(object);
      }
    }
    return failures;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, ObjectPoolThreads, test::pool_kinds, test::pool_kind_name);

TEST_P(ObjectPoolThreads, DemandOfExactlyTheCapacityIsAlwaysMet) {
  constexpr unsigned threads = 4;
  constexpr unsigned rounds = 250'000;  // two operations each: two million in all
  for (const std::size_t hold : {std::size_t{1}, std::size_t{16}}) {
    pool_type pool(threads * hold);
    this->disown_all(pool);
    std::array<unsigned, threads> failures{};
    test::run_crew(
        threads, [&](unsigned i) { failures.at(i) = this->churn(pool, i + 1, hold, rounds / 2); });
    EXPECT_EQ(std::accumulate(failures.begin(), failures.end(), 0U), 0U) << "each holds " << hold;
    EXPECT_EQ(test::count_acquirable(pool), threads * hold);
  }
}

TEST_P(ObjectPoolThreads, DemandBelowTheCapacityIsAlwaysMet) {
  constexpr unsigned threads = 4;
  pool_type pool(1000);
  this->disown_all(pool);
  std::array<unsigned, threads> failures{};
  test::run_crew(threads,
                 [&](unsigned i) { failures.at(i) = this->churn(pool, i + 1, 64, 50'000); });
  EXPECT_EQ(std::accumulate(failures.begin(), failures.end(), 0U), 0U);
  EXPECT_EQ(test::count_acquirable(pool), 1000U);
}

TEST_P(ObjectPoolThreads, DemandAboveTheCapacityLosesAndDoublesNothing) {
  constexpr unsigned threads = 4;
  pool_type pool(10);
  this->disown_all(pool);
  test::run_crew(threads, [&](unsigned i) {
    for (unsigned round = 0; round < 5000; ++round) {
      std::array<owned*, 4> some{};
      for (owned*& object : some) {
        object = pool.try_acquire_ptr(default_init);
        EXPECT_TRUE(object == nullptr || take(*object, i + 1));
      }
      for (owned* const object : some) {
        if (object != nullptr) {
          leave(*object);
          pool.release(object);
        }
      }
    }
  });
  EXPECT_EQ(test::count_acquirable(pool), 10U);
}

TEST_P(ObjectPoolThreads, BulkBelongsToOneThreadAtATime) {
  constexpr unsigned threads = 4;
  pool_type pool(600);
  test::run_crew(threads, [&](unsigned i) {
    std::vector<owned*> some(300);
    for (unsigned round = 0; round < 500; ++round) {
      const std::size_t count =
          pool.try_acquire_n(std::span(some).first(1 + (round * 37 + i * 90) % 300));
      for (owned* const object : std::span(some).first(count)) {
        EXPECT_TRUE(take(*object, i + 1));
      }
      pool.release_n(std::span<owned* const>(some).first(count));
    }
  });
  EXPECT_EQ(test::count_acquirable(pool), 600U);
}

TEST_P(ObjectPoolThreads, ObjectsMayBeReleasedInAnotherThread) {
  pool_type pool(200);
  for (int round = 0; round < 20; ++round) {
    std::vector<owned*> all = test::drain(pool);
    ASSERT_EQ(all.size(), 200U);
    test::run_crew(4, [&](unsigned i) {
      for (std::size_t k = i; k < all.size(); k += 4) {
        EXPECT_TRUE(take(*all[k], i + 1));
        pool.release(all[k]);
      }
    });
  }
  EXPECT_EQ(test::count_acquirable(pool), 200U);
}

TEST_P(ObjectPoolThreads, ACrowdOfThreadsSharesThePool) {
  constexpr unsigned crowd = 200;
  constexpr std::size_t hold = 3;
  pool_type pool(crowd * hold);
  this->disown_all(pool);
  std::barrier all_hold(crowd);
  std::vector<unsigned> failures(crowd);
  test::run_crew(crowd, [&](unsigned i) {
    failures[i] = this->churn(pool, i + 1, hold, 50);
    std::array<owned*, hold> held{};
    for (owned*& object : held) {
      object = pool.try_acquire_ptr();
      failures[i] += object == nullptr ? 1 : 0;
    }
    all_hold.arrive_and_wait();
    for (owned* const object : held) {
      pool.release(object);
    }
  });
  EXPECT_EQ(std::accumulate(failures.begin(), failures.end(), 0U), 0U);
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(test::count_acquirable(pool), crowd * hold);
}

TEST_P(ObjectPoolThreads, StatsAddUpAfterAllThreadsHaveEnded) {
  pool_type pool(500);
  test::run_in_new_thread([&] { this->disown_all(pool); });
  test::run_crew(6, [&](unsigned i) { (void)this->churn(pool, i + 1, 20, 2000); });
  const slot_pool_stats stats = pool.stats();
  EXPECT_EQ(stats.in_use, 0U);
  EXPECT_EQ(stats.cached, 0U);
  EXPECT_EQ(stats.idle - stats.cached, 500U);
  EXPECT_EQ(stats.open_caches, 0U);
}

TEST_P(ObjectPoolThreads, WalkSeesCompleteObjectsBesideAcquires) {
  test::kind_pool<owned, test::tracking_traits<owned>> pool(400);
  test::run_crew(2, [&](unsigned i) {
    if (i == 0) {
      for (unsigned count = 0; count < 400; ++count) {
        (void)pool.try_acquire_ptr(7U, count);
      }
    } else {
      for (int walk = 0; walk < 50; ++walk) {
        pool.for_each_in_use([](const owned& object) { EXPECT_EQ(object.owner, 7U); });
      }
    }
  });
  std::vector<owned*> all;
  pool.for_each_in_use([&all](owned& object) { all.push_back(&object); });
  test::release_all(pool, all);
}

}  // namespace
}  // namespace lido
