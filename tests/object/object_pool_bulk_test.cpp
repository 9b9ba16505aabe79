#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <list>
#include <span>
#include <utility>
#include <vector>

#include "lido/object_pool.hpp"
#include "support/drain.hpp"
#include "support/forbidden_pages.hpp"
#include "support/pool_kinds.hpp"
#include "support/tracked_test.hpp"

namespace lido {
namespace {

using test::refused;
using test::tracked;

class ObjectPoolBulk : public test::tracked_test,
                       public ::testing::WithParamInterface<test::pool_kind> {
 protected:
  using pool_type = test::kind_pool<tracked>;
  using tracking_pool = test::kind_pool<tracked, test::tracking_traits<tracked>>;
};
INSTANTIATE_TEST_SUITE_P(Kinds, ObjectPoolBulk, test::pool_kinds, test::pool_kind_name);

constexpr std::array<std::size_t, 10> bulk_sizes{1, 2, 31, 32, 33, 64, 255, 256, 257, 700};

TEST_P(ObjectPoolBulk, AcquireFillsTheWholeSpan) {
  for (const std::size_t size : bulk_sizes) {
    pool_type pool(1000);
    std::vector<tracked*> out(size);
    EXPECT_EQ(pool.try_acquire_n(out), size);
    EXPECT_EQ(test::count_distinct(out), size);
    EXPECT_EQ(tracked::counts().live(), static_cast<int>(size));
    pool.release_n(out);
    EXPECT_EQ(tracked::counts().live(), 0);
  }
}

TEST_P(ObjectPoolBulk, ReleaseReturnsEverySlot) {
  pool_type pool(1000);
  for (const std::size_t size : bulk_sizes) {
    std::vector<tracked*> out(size);
    (void)pool.try_acquire_n(out);
    pool.release_n(out);
    EXPECT_EQ(pool.stats().in_use, 0U) << "bulk of " << size;
    EXPECT_EQ(test::count_acquirable(pool), 1000U) << "bulk of " << size;
  }
}

TEST_P(ObjectPoolBulk, AcquireIntoNothingTakesNothing) {
  pool_type pool(10);
  EXPECT_EQ(pool.try_acquire_n(std::span<tracked*>()), 0U);
  EXPECT_EQ(pool.try_acquire_n(std::span<pool_type::lease_type>()), 0U);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST_P(ObjectPoolBulk, ReleaseSkipsWhatAShortAcquireLeftEmpty) {
  pool_type pool(300);
  std::vector<tracked*> out(700);
  EXPECT_EQ(pool.try_acquire_n(out), 300U);
  pool.release_n(out);
  EXPECT_EQ(tracked::counts().live(), 0);
  EXPECT_EQ(test::count_acquirable(pool), 300U);
}

TEST_P(ObjectPoolBulk, ReleaseOfNothingDoesNothing) {
  pool_type pool(10);
  pool.release_n({});
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST_P(ObjectPoolBulk, AcquireStopsAtTheCapacity) {
  for (const std::size_t capacity :
       {std::size_t{1}, std::size_t{33}, std::size_t{100}, std::size_t{300}}) {
    pool_type pool(capacity);
    std::vector<tracked*> out(400);
    EXPECT_EQ(pool.try_acquire_n(out), capacity);
    out.resize(capacity);
    pool.release_n(out);
  }
}

TEST_P(ObjectPoolBulk, AcquireFromAnExhaustedPoolTakesNothing) {
  pool_type pool(10);
  const auto all = test::drain(pool);
  std::array<tracked*, 4> out{};
  EXPECT_EQ(pool.try_acquire_n(out), 0U);
  pool.release_n(all);
}

TEST_P(ObjectPoolBulk, SinglesAndBulkMix) {
  pool_type pool(300);
  std::vector<tracked*> bulk(100);
  for (int round = 0; round < 20; ++round) {
    const auto single = pool.acquire();
    ASSERT_EQ(pool.try_acquire_n(bulk), 100U);
    for (tracked* const object : std::span(bulk).first(50)) {
      pool.release(object);
    }
    pool.release_n(std::span<tracked* const>(bulk).subspan(50));
  }
  EXPECT_EQ(test::count_acquirable(pool), 300U);
}

TEST_P(ObjectPoolBulk, ThrowingConstructorLosesNothingAtAnyPosition) {
  pool_type pool(300);
  for (const int position : {1, 2, 3, 31, 32, 33, 100, 255, 256, 257, 258, 299, 300}) {
    std::vector<tracked*> out(300);
    tracked::counts() = {};
    tracked::counts().refuse_at = position;
    EXPECT_THROW((void)pool.try_acquire_n(out), refused);
    EXPECT_EQ(tracked::counts().constructed, position - 1);
    EXPECT_EQ(tracked::counts().destroyed, position - 1);
    EXPECT_EQ(pool.stats().in_use, 0U) << "position " << position;
    EXPECT_EQ(test::count_acquirable(pool), 300U) << "position " << position;
  }
}

TEST_P(ObjectPoolBulk, ThrowingConstructorLosesNothingAtEveryPositionOfASmallPool) {
  for (int position = 1; position <= 40; ++position) {
    pool_type pool(40);
    std::vector<tracked*> out(40);
    tracked::counts().refuse_at = position;
    EXPECT_THROW((void)pool.try_acquire_n(out), refused);
    EXPECT_EQ(test::count_acquirable(pool), 40U) << "position " << position;
  }
}

TEST_P(ObjectPoolBulk, BulkIsTrackedToo) {
  tracking_pool pool(50);
  std::vector<tracked*> out(20);
  (void)pool.try_acquire_n(out);
  std::size_t visited = 0;
  pool.for_each_in_use([&](const tracked& /*object*/) { ++visited; });
  EXPECT_EQ(visited, 20U);
  pool.release_n(out);
  pool.for_each_in_use([](const tracked& /*object*/) { FAIL() << "nothing is in use"; });
}

TEST_P(ObjectPoolBulk, BulkThatThrewIsNotTracked) {
  tracking_pool pool(50);
  std::vector<tracked*> out(20);
  tracked::counts().refuse_at = 10;
  EXPECT_THROW((void)pool.try_acquire_n(out), refused);
  pool.for_each_in_use([](const tracked& /*object*/) { FAIL() << "nothing is in use"; });
}

/// Counts the copies of an argument.
struct argument {
  argument() = default;
  argument(const argument& /*other*/) noexcept { ++copies; }
  argument& operator=(const argument&) = delete;
  ~argument() = default;
  static inline int copies = 0;
};
struct made_of_two {
  made_of_two(int first, const argument& second) : number(first), from(second) {}
  int number;
  argument from;
};

TEST_P(ObjectPoolBulk, EachObjectIsMadeFromTheSameArguments) {
  test::kind_pool<made_of_two> pool(100);
  std::vector<made_of_two*> out(100);
  argument::copies = 0;
  EXPECT_EQ(pool.try_acquire_n(out, 7, argument()), 100U);
  EXPECT_EQ(argument::copies, 100);
  for (const made_of_two* const each : out) {
    EXPECT_EQ(each->number, 7);
  }
  pool.release_n(out);
}

TEST_P(ObjectPoolBulk, WithoutArgumentsTheObjectsAreZero) {
  test::kind_pool<int> pool(70);
  std::vector<int*> out(70);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(pool.try_acquire_n(out), 70U);
    for (int* const each : out) {
      EXPECT_EQ(std::exchange(*each, 5), 0);
    }
    pool.release_n(out);
  }
}

TEST_P(ObjectPoolBulk, DefaultInitWritesNothing) {
  test::kind_pool<test::page, pool_traits<test::page>> pool(100);
  std::vector<test::page*> out(100);
  ASSERT_EQ(pool.try_acquire_n(out, default_init), 100U);
  {
    const test::forbidden_pages nobody(out);
    pool.release_n(out);
    ASSERT_EQ(pool.try_acquire_n(out, default_init), 100U);
    pool.release_n(out);
    ASSERT_TRUE(pool.try_acquire_all(out, default_init));
  }
  pool.release_n(out);
}

TEST_P(ObjectPoolBulk, LeasesOwnTheirObjects) {
  pool_type pool(100);
  {
    std::vector<pool_type::lease_type> out(120);
    EXPECT_EQ(pool.try_acquire_n(out, 3), 100U);
    EXPECT_EQ(out[99]->value(), 3);
    EXPECT_FALSE(out[100]);
    EXPECT_EQ(tracked::counts().live(), 100);
  }
  EXPECT_EQ(tracked::counts().live(), 0);
  EXPECT_EQ(test::count_acquirable(pool), 100U);
}

TEST_P(ObjectPoolBulk, LeasesReleaseWhatTheyHeldFirst) {
  pool_type pool(40);
  std::vector<pool_type::lease_type> out(40);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(pool.try_acquire_n(out, round), 40U);
    EXPECT_EQ(out[39]->value(), round);
  }
  EXPECT_EQ(pool.try_acquire_n(std::span(out).first(10)), 10U);
  EXPECT_EQ(tracked::counts().live(), 40);
}

TEST_P(ObjectPoolBulk, LeasesOfAThrowingConstructorAreEmpty) {
  for (int position = 1; position <= 40; ++position) {
    pool_type pool(40);
    std::vector<pool_type::lease_type> out(50);
    out[45] = pool.acquire();
    tracked::counts().refuse_at = position;
    EXPECT_THROW((void)pool.try_acquire_n(out), refused);
    EXPECT_EQ(std::count(out.begin(), out.end(), nullptr), 50);
    EXPECT_EQ(pool.stats().in_use, 0U) << "position " << position;
    EXPECT_EQ(test::count_acquirable(pool), 40U) << "position " << position;
  }
}

TEST_P(ObjectPoolBulk, PointersOfAThrowingConstructorAreNull) {
  for (int position = 1; position <= 70; ++position) {
    pool_type pool(70);
    std::vector<tracked*> out(80);
    tracked::counts().refuse_at = position;
    EXPECT_THROW((void)pool.try_acquire_n(out), refused);
    EXPECT_EQ(std::count(out.begin(), out.end(), nullptr), 80) << "position " << position;
    pool.release_n(out);
  }
}

/// A list that is linked through its objects, and clears the link of each that is destroyed.
struct linked {
  explicit linked(linked* successor) : next(successor) {}
  linked(const linked&) = delete;
  linked& operator=(const linked&) = delete;
  ~linked() { next = this; }
  linked* next;
};
class chain {
 public:
  class iterator {
   public:
    explicit iterator(linked* at) : at_(at) {}
    linked* operator*() const { return at_; }
    iterator& operator++() {
      at_ = at_->next;
      return *this;
    }
    bool operator==(const iterator&) const = default;

   private:
    linked* at_;
  };
  explicit chain(linked* head) : head_(head) {}
  [[nodiscard]] iterator begin() const { return iterator(head_); }
  [[nodiscard]] static iterator end() { return iterator(nullptr); }

 private:
  linked* head_;
};

TEST_P(ObjectPoolBulk, ReleasesAListThatIsLinkedThroughItsObjects) {
  test::kind_pool<linked> pool(300);
  for (const int length : {0, 1, 63, 64, 65, 300}) {
    linked* head = nullptr;
    for (int i = 0; i < length; ++i) {
      head = pool.try_acquire_ptr(head);
    }
    pool.release_n(chain(head));
    EXPECT_EQ(pool.stats().in_use, 0U) << length;
  }
}

TEST_P(ObjectPoolBulk, ReleasesAnyRangeOfPointers) {
  pool_type pool(30);
  std::array<tracked*, 10> array{};
  std::list<tracked*> list(10);
  const auto fill = [&](tracked*& place) { place = pool.try_acquire_ptr(); };
  std::for_each(array.begin(), array.end(), fill);
  std::for_each(list.begin(), list.end(), fill);
  list.push_back(nullptr);
  tracked* single = pool.try_acquire_ptr();
  pool.release_n(array);
  pool.release_n(std::as_const(list));
  pool.release_n({&single, 1});
  pool.release_n(std::list<tracked*>());
  EXPECT_EQ(pool.stats().in_use, 0U);
}

}  // namespace
}  // namespace lido
