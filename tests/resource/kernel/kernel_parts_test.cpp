// The kernel's parts in isolation.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "lido/base/deadline_heap.hpp"
#include "resource/create_quota.hpp"
#include "resource/creates_wanted.hpp"
#include "resource/retry_backoff.hpp"

namespace lido::detail {
namespace {

struct entry : heap_hook<entry> {
  int due = 0;
};

TEST(KernelParts, TheFirstOfAHeapIsTheSmallest) {
  std::minstd_rand random(1);
  std::vector<entry> all(64);
  deadline_heap<entry> heap;
  std::vector<entry*> in;
  for (int round = 0; round < 20'000; ++round) {
    entry& one = all[random() % all.size()];
    if (heap.contains(one)) {
      heap.remove(one);
      std::erase(in, &one);
    } else {
      one.due = static_cast<int>(random() % 100);
      heap.push(one, one.due);
      in.push_back(&one);
    }
    const auto smallest = std::min_element(
        in.begin(), in.end(),
        [](const entry* left, const entry* right) { return left->due < right->due; });
    ASSERT_EQ(heap.first() == nullptr, in.empty());
    ASSERT_TRUE(in.empty() || heap.first()->due == (*smallest)->due);
    ASSERT_EQ(heap.least_key(), in.empty() ? never : (*smallest)->due);
  }
}

TEST(KernelParts, AnElementThatIsNotInTheHeapIsNotRemoved) {
  entry one;
  deadline_heap<entry> heap;
  heap.remove(one);
  heap.push(one, 1);
  heap.remove(one);
  heap.remove(one);
  EXPECT_EQ(heap.first(), nullptr);
}

struct counted {
  static inline long looks = 0;
  int due = 0;
  bool operator<(const counted& other) const {
    ++looks;
    return due < other.due;
  }
};
struct counted_entry : heap_hook<counted_entry, void, counted> {};

TEST(KernelParts, AHeapTakesTheLogarithmOfComparisons) {
  constexpr int count = 10'000;
  std::minstd_rand random(1);
  std::vector<counted_entry> all(count);
  deadline_heap<counted_entry, void, counted> heap;
  for (counted_entry& one : all) {
    heap.push(one, {static_cast<int>(random())});
  }
  while (counted_entry* const first = heap.first()) {
    heap.remove(*first);
  }
  EXPECT_LT(counted::looks, 3L * count * 14);
}

TEST(KernelParts, ABackoffEndsAndDoubles) {
  retry_backoff retry(100, 250);
  EXPECT_FALSE(retry.waits(0));
  retry.failed(1000, 1000, 0.5, /*permanent=*/false);
  EXPECT_EQ(retry.at(/*is_asked=*/false), 1100);  // the shortest pause is as long as the limit
  EXPECT_TRUE(retry.waits(1099));
  EXPECT_FALSE(retry.waits(1100));
  retry.failed(2000, 2000, 0, /*permanent=*/true);
  EXPECT_TRUE(retry.is_hopeless(2199));
  EXPECT_FALSE(retry.is_hopeless(2200));
  retry.failed(3000, 3000, 0.999, /*permanent=*/false);
  EXPECT_LE(retry.at(/*is_asked=*/false), 3251);
  retry.reset();
  EXPECT_FALSE(retry.is_failing());
}

TEST(KernelParts, ABackoffWithoutEndDoesNotOverflow) {
  retry_backoff retry(never / 2, never);
  for (int i = 0; i < 4; ++i) {
    retry.failed(never - 1, never - 1, 0.99, /*permanent=*/false);
    EXPECT_GT(retry.at(/*is_asked=*/false), 0);
    EXPECT_GT(retry.at(/*is_asked=*/true), 0);
  }
}

TEST(KernelParts, RetriesAreDrawnFromTheWholeDelay) {
  constexpr detail::nanos one_s = 1'000'000'000;
  detail::retry_backoff backoff(one_s, 3 * one_s);
  for (const detail::nanos limit : {1, 2, 3, 3}) {
    detail::retry_backoff soon = backoff;
    soon.failed(1000, 1000, 0.0, /*permanent=*/false);
    EXPECT_EQ(soon.at(/*is_asked=*/false), 1000 + one_s / 20);  // twenty a second
    backoff.failed(1000, 1000, 0.5, /*permanent=*/false);
    EXPECT_EQ(backoff.at(/*is_asked=*/false), 1001 + limit * one_s / 2);
  }
}

TEST(KernelParts, AnAcquireWaitsForATenthOfASecondAtMost) {
  constexpr detail::nanos one_s = 1'000'000'000;
  detail::retry_backoff retry(one_s / 5, 5 * one_s);
  for (detail::nanos now = 0; now < 100 * one_s; now += one_s) {
    retry.failed(now, now, static_cast<double>(now % 7) / 7, /*permanent=*/true);
    const detail::nanos pause = retry.at(/*is_asked=*/true) - now;
    EXPECT_GE(pause, one_s / 20);
    EXPECT_LT(pause, one_s / 10);
    EXPECT_LE(retry.at(/*is_asked=*/true), retry.at(/*is_asked=*/false));
    EXPECT_FALSE(retry.is_hopeless(now + pause));
  }
}

TEST(KernelParts, CreatesThatFailTogetherDoubleThePauseOnce) {
  constexpr detail::nanos one_s = 1'000'000'000;
  detail::retry_backoff retry(one_s, 100 * one_s);
  retry.failed(1000, 900, 0.999, /*permanent=*/false);
  const detail::nanos first = retry.at(/*is_asked=*/false);
  for (detail::nanos now = 1001; now < 1009; ++now) {
    retry.failed(now, 999, 0.999, /*permanent=*/false);
  }
  EXPECT_EQ(retry.at(/*is_asked=*/false), first);
  retry.failed(2000, 1000, 0.999, /*permanent=*/false);  // one that was begun afterwards
  EXPECT_GT(retry.at(/*is_asked=*/false), first + one_s / 2);
}

TEST(KernelParts, ACreateThatBeganBeforeThePauseChangesNothing) {
  struct row {
    bool first;  // is permanent
    bool late;   // also the one that began before
  };
  for (const row& now : {row{false, true}, row{true, false}, row{true, true}}) {
    retry_backoff retry(1000, 5000);
    retry.failed(1000, 900, 0.999, now.first);
    const detail::nanos soon = retry.at(/*is_asked=*/true);
    const detail::nanos at = retry.at(/*is_asked=*/false);
    retry.failed(1001, 950, 0.5, now.late);
    EXPECT_EQ(retry.is_hopeless(1001), now.first);
    EXPECT_EQ(retry.at(/*is_asked=*/true), soon);
    EXPECT_EQ(retry.at(/*is_asked=*/false), at);
  }
}

TEST(KernelParts, TryNowEndsThePauseAndKeepsTheLimit) {
  constexpr detail::nanos one_s = 1'000'000'000;
  detail::retry_backoff retry(one_s, 100 * one_s);
  retry.failed(1000, 1000, 0.999, /*permanent=*/true);
  retry.try_now();
  EXPECT_FALSE(retry.waits(1000));
  EXPECT_FALSE(retry.is_hopeless(1000));
  EXPECT_TRUE(retry.is_failing());
  retry.failed(1000, 1000, 0.999, /*permanent=*/false);
  EXPECT_GT(retry.at(/*is_asked=*/false), one_s);  // doubled
}

struct planned {
  const char* why;
  create_demand demand;
  create_supply supply;
  create_limits limits;
  std::uint32_t wanted;
};

// waiters, urgent, min_idle; live, under way, creating, idle, late; max_size, reserve, max_creating
constexpr planned plans[] = {
    {"nothing is needed", {0, 0, 0}, {0, 0, 0, 0}, {4, 0, 4}, 0},
    {"one for each waiter", {3, 0, 0}, {0, 0, 0, 0}, {4, 0, 4}, 3},
    {"as max_size allows", {9, 0, 0}, {1, 0, 0, 0}, {4, 0, 4}, 3},
    {"a full group makes none", {9, 0, 0}, {4, 0, 0, 0}, {4, 0, 4}, 0},
    {"a group that became smaller makes none", {9, 0, 0}, {6, 0, 0, 0}, {4, 0, 4}, 0},
    {"what is under way serves waiters", {3, 0, 0}, {2, 2, 2, 0}, {9, 0, 9}, 1},
    {"as many at once as max_creating", {9, 0, 0}, {1, 1, 1, 0}, {9, 0, 2}, 1},
    {"creates that are kept count as begun", {2, 0, 0}, {2, 0, 2, 0}, {9, 0, 3}, 1},
    {"min_idle is made ahead", {0, 0, 2}, {0, 0, 0, 0}, {4, 0, 4}, 2},
    {"idle ones count for min_idle", {0, 0, 2}, {1, 0, 0, 1}, {4, 0, 4}, 1},
    {"what is under way and for no waiter does, too", {0, 0, 2}, {1, 1, 1, 0}, {4, 0, 4}, 1},
    {"but not what is under way for a waiter", {1, 0, 2}, {1, 1, 1, 0}, {4, 0, 4}, 2},
    {"waiters and min_idle together", {1, 0, 2}, {0, 0, 0, 0}, {4, 0, 4}, 3},
    {"an urgent waiter may have one of the reserve", {1, 1, 0}, {4, 0, 0, 0}, {4, 1, 4}, 1},
    {"another waiter may not", {1, 0, 0}, {4, 0, 0, 0}, {4, 1, 4}, 0},
    {"the reserve has an end", {2, 2, 0}, {5, 0, 0, 0}, {4, 1, 4}, 0},
    {"what is left of the reserve", {2, 2, 0}, {5, 0, 0, 0}, {4, 2, 4}, 1},
    {"an urgent waiter waits for no create of others", {1, 1, 0}, {2, 0, 2, 0}, {4, 1, 2}, 1},
    {"nothing counts on a late one", {1, 0, 0}, {1, 1, 1, 0, 1}, {4, 0, 4}, 1},
    {"but it counts as under way", {9, 0, 0}, {2, 2, 2, 0, 2}, {4, 0, 2}, 0},
};

TEST(KernelParts, AsManyCreatesAreWantedAsTheLimitsAllow) {
  for (const planned& one : plans) {
    EXPECT_EQ(creates_wanted(one.demand, one.supply, one.limits), one.wanted) << one.why;
  }
}

}  // namespace
}  // namespace lido::detail
