#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lido/object_pool.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/misuse_log.hpp"
#include "support/pool_kinds.hpp"
#include "support/pools.hpp"
#include "support/scripted_hooks.hpp"

namespace lido {
namespace {

using test::scripted_hooks;
using test::tracked;

class KeepConstructed : public test::kept_test,
                        public ::testing::WithParamInterface<test::pool_kind> {
 protected:
  using pool_type = test::keeping_pool<tracked, scripted_hooks>;
};
INSTANTIATE_TEST_SUITE_P(Kinds, KeepConstructed, test::pool_kinds, test::pool_kind_name);

/// A type that only its hooks can make.
class secretive {
 public:
  [[nodiscard]] int value() const { return value_; }

 private:
  friend struct secretive_hooks;
  explicit secretive(int value) : value_(value) {}
  int value_;
};
struct secretive_hooks {
  static secretive create() { return secretive(5); }
};

TEST(KeepConstructedTypes, HooksMayBeTheOnlyWayToMakeAnObject) {
  test::kept_pool_of<secretive, secretive_hooks> pool(2);
  EXPECT_EQ(pool.acquire()->value(), 5);
}

TEST_P(KeepConstructed, ReleasedObjectComesBack) {
  pool_type pool(1);
  pool.acquire().reset();
  pool.acquire().reset();
  EXPECT_EQ(tracked::counts().constructed, 1);
}

TEST_P(KeepConstructed, HooksAreCalledInOrder) {
  {
    pool_type pool(1);
    pool.acquire().reset();
    pool.acquire().reset();
    EXPECT_EQ(this->script().log, "cadad");
  }
  EXPECT_EQ(this->script().log, "cadadx");
}

TEST_P(KeepConstructed, ArgumentsOfAnAcquireGoToActivate) {
  pool_type pool(4);
  (void)pool.acquire(3);
  EXPECT_EQ(this->script().last_argument, 3);
  (void)pool.try_acquire(4);
  EXPECT_EQ(this->script().last_argument, 4);
  pool.release(pool.try_acquire_ptr(5));
  EXPECT_EQ(this->script().last_argument, 5);
}

TEST_P(KeepConstructed, LazyPoolCreatesWhatIsAskedFor) {
  pool_type pool(100);
  EXPECT_EQ(tracked::counts().constructed, 0);
  const auto one = pool.acquire();
  const auto two = pool.acquire();
  EXPECT_EQ(tracked::counts().constructed, 2);
}

TEST_P(KeepConstructed, EagerPoolCreatesAllAndNothingLater) {
  pool_type pool({.capacity = 100, .creation = creation::eager});
  EXPECT_EQ(pool.stats().live, 100U);
  EXPECT_EQ(test::count_acquirable(pool), 100U);
  EXPECT_EQ(tracked::counts().constructed, 100);
}

TEST_P(KeepConstructed, EndOfThePoolDestroysEveryObjectOnce) {
  {
    pool_type pool(1000);
    EXPECT_EQ(test::count_acquirable(pool), 1000U);
    EXPECT_EQ(tracked::counts().destroyed, 0);
  }
  EXPECT_EQ(tracked::counts().destroyed, 1000);
}

TEST_P(KeepConstructed, EndOfThePoolFindsObjectsInTheCachesOfOthers) {
  {
    pool_type pool(1000);
    test::run_in_new_thread([&] { test::fill_own_cache(pool, 300); });
    const test::parked_crew crew(1, [&](unsigned /*index*/) { test::fill_own_cache(pool, 400); });
    EXPECT_EQ(pool.stats().live, static_cast<unsigned>(tracked::counts().live()));
  }
  EXPECT_EQ(tracked::counts().live(), 0);
}

TEST_P(KeepConstructed, NumbersTellWhatIsAvailableInUseAndCreated) {
  pool_type pool(10);
  const auto one = pool.acquire();
  auto two = pool.acquire();
  two.reset();
  const auto stats = pool.stats();
  EXPECT_EQ(stats.in_use, 1U);
  EXPECT_EQ(stats.idle, 9U);
  EXPECT_EQ(stats.live, 2U);
}

TEST_P(KeepConstructed, RefusedObjectIsDestroyedAndMadeAnew) {
  pool_type pool(1);
  this->script().refuse = true;
  pool.acquire().reset();
  EXPECT_EQ(this->script().log, "cadx");
  EXPECT_EQ(pool.stats().live, 0U);
  EXPECT_EQ(pool.stats().idle, 1U);
  this->script().refuse = false;
  pool.acquire().reset();
  EXPECT_EQ(this->script().log, "cadxcad");
}

TEST_P(KeepConstructed, BulkCallsActivateAndDeactivateEach) {
  pool_type pool(3);
  std::array<tracked*, 4> out{};
  ASSERT_EQ(pool.try_acquire_n(out), 3U);
  EXPECT_EQ(this->script().log, "cacaca");
  pool.release_n(out);
  EXPECT_EQ(this->script().log, "cacacaddd");
}

TEST_P(KeepConstructed, DetachedObjectIsKeptWhenItIsReleased) {
  pool_type pool(1);
  pool.release(pool.acquire().detach());
  EXPECT_EQ(this->script().log, "cad");
}

/// Objects that record their life.
struct diary {
  std::string text = "new";
};

TEST(KeepConstructedDefaults, ObjectsAreValueInitialisedAndKeptAsTheyAre) {
  test::kept_pool_of<diary> pool(1);
  EXPECT_EQ(pool.acquire()->text, "new");
  pool.acquire()->text = "used";
  EXPECT_EQ(pool.acquire()->text, "used");
  EXPECT_EQ(pool.acquire(default_init)->text, "used");
}

TEST(KeepConstructedDefaults, EachObjectIsConstructedOnceAndDestroyedWithThePool) {
  tracked::counts() = {};
  {
    test::kept_pool_of<tracked> pool(2);
    for (int round = 0; round < 3; ++round) {
      const auto one = pool.acquire();
      const auto two = pool.acquire();
    }
    EXPECT_EQ(tracked::counts().constructed, 2);
    EXPECT_EQ(tracked::counts().live(), 2);
  }
  EXPECT_EQ(tracked::counts().live(), 0);
}

TEST(KeepConstructedDefaults, TrivialObjectsStartFromZero) {
  test::kept_pool_of<std::array<int, 16>> pool({.capacity = 8, .caches = cache_kind::none});
  std::array<std::array<int, 16>*, 8> all{};
  ASSERT_EQ(pool.try_acquire_n(all), 8U);
  for (const auto* const object : all) {
    EXPECT_EQ(*object, (std::array<int, 16>{}));
  }
  pool.release_n(all);
}

/// Hooks with state, for a type without a default constructor.
struct label {
  explicit label(std::string words) : text(std::move(words)) {}
  label(const label&) = delete;
  std::string text;
};
struct labelling {
  std::string prefix;
  std::shared_ptr<int> made;
  label create() { return label(prefix + std::to_string((*made)++)); }
};

TEST(KeepConstructedHooks, ArePassedToThePool) {
  const auto made = std::make_shared<int>(0);
  test::kept_pool_of<label, labelling> pool({.capacity = 2}, labelling{"n", made});
  const auto first = pool.acquire();
  const auto second = pool.acquire();
  EXPECT_EQ(first->text, "n0");
  EXPECT_EQ(second->text, "n1");
}

TEST(KeepConstructedHooks, LiveAsLongAsThePool) {
  const auto made = std::make_shared<int>(0);
  std::optional<test::kept_pool_of<label, labelling>> pool;
  pool.emplace(object_pool_options{.capacity = 2}, labelling{"n", made});
  EXPECT_EQ(made.use_count(), 2);
  pool.reset();
  EXPECT_EQ(made.use_count(), 1);
}

/// A deactivation that cannot refuse.
struct clearing {
  static void deactivate(diary& object) { object.text.clear(); }
};

TEST(KeepConstructedHooks, DeactivateMayReturnNothing) {
  test::kept_pool_of<diary, clearing> pool(1);
  pool.acquire().reset();
  EXPECT_EQ(pool.acquire()->text, "");
  EXPECT_EQ(pool.stats().live, 1U);
}

/// A list whose rest is released to the pool with its head.
struct link;
struct unlinking {
  static void deactivate(link& object) noexcept;
};
using link_pool = test::kept_pool_of<link, unlinking>;
struct link {
  lease<link, test::kept_traits<link, unlinking>> next;
};
void unlinking::deactivate(link& object) noexcept {
  object.next.reset();
}

TEST(KeepConstructedHooks, MayUseThePoolTheyAreCalledFor) {
  link_pool pool(8);
  auto head = pool.acquire();
  head->next = pool.acquire();
  head->next->next = pool.acquire();
  head.reset();
  EXPECT_EQ(pool.stats().idle, 8U);
}

struct fixed_in_place {
  explicit fixed_in_place(int start) : number(start) {}
  fixed_in_place(const fixed_in_place&) = delete;
  fixed_in_place& operator=(const fixed_in_place&) = delete;
  int number;
};

struct static_creation {
  static fixed_in_place create() { return fixed_in_place(3); }
};

TEST(KeepConstructedHooks, CreateMayBeStaticAndReturnWhatCannotMove) {
  test::kept_pool_of<fixed_in_place, static_creation> pool(2);
  EXPECT_EQ(pool.acquire()->number, 3);
}

class ObjectInUse : public test::kept_test {};

TEST_F(ObjectInUse, AtTheEndOfThePoolIsLeftAlone) {
  const test::misuse_log misuses;
  {
    test::kept_pool_of<tracked, scripted_hooks> pool(4);
    (void)pool.acquire().detach();
    pool.acquire().reset();
  }
  EXPECT_EQ(tracked::counts().live(), 1);
  tracked::counts() = {};
}

TEST(ConstructEachTime, CreatedObjectsAreThoseInUse) {
  object_pool<int> pool(4);
  const auto one = pool.acquire(1);
  EXPECT_EQ(pool.stats().live, 1U);
}

}  // namespace
}  // namespace lido
