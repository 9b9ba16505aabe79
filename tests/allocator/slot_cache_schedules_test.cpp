#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lido/allocator/slot_cache.hpp"
#include "support/driven_slot_cache.hpp"

namespace lido::detail {
namespace {

using test::driven_slot_cache;
using test::item;

/// Runs one owner and two thieves through a schedule, one step at a time, and records which thread
/// has which item. Steps of one thread never mix with those of another, so this covers the
/// protocol, not the memory model.
class actors {
 public:
  explicit actors(lido::cache_kind kind, std::size_t items) : driven_(kind) {
    for (std::uintptr_t number = 1; number <= items; ++number) {
      (void)driven_.push(item(number));
    }
    next_ = items + 1;
  }

  /// Runs a step. o: the owner's next step. a, b: a thief's next step.
  void step(char who) {
    if (who == 'o') {
      owner_step();
    } else {
      thief_step(who == 'a' ? first_ : second_);
    }
  }

  /// Returns what is lost or duplicated, or nothing.
  [[nodiscard]] std::string verdict() {
    if (pending_pop_ || pending_push_) {
      owner_step();
    }
    for (void* const what : driven_.pop_all()) {
      found_.push_back(what);
    }
    const std::set<void*> distinct(found_.begin(), found_.end());
    if (distinct.size() != found_.size()) {
      return "an item was handed out twice";
    }
    return distinct.size() == next_ - 1 ? "" : "an item was lost";
  }

 private:
  struct thief {
    std::optional<slot_cache::control> announced;
  };

  // Pops and pushes alternately; each in two steps where the first does not hit.
  void owner_step() {
    if (pending_pop_) {
      pending_pop_ = false;
      keep(driven_.finish_pop());
    } else if (pending_push_) {
      pending_push_ = false;
      if (!driven_.finish_push(item(next_ - 1))) {
        keep(item(next_ - 1));
      }
    } else if (pops_next_) {
      pops_next_ = false;
      void* popped = nullptr;
      pending_pop_ = !driven_.cache().pop(popped);
      keep(pending_pop_ ? nullptr : popped);
    } else {
      pops_next_ = true;
      pending_push_ = !driven_.cache().push(item(next_++));
    }
  }

  void thief_step(thief& who) {
    if (who.announced.has_value()) {
      for (void* const what :
           driven_.harvest(*who.announced).value_or(driven_slot_cache::items{})) {
        keep(what);
      }
      who.announced.reset();
    } else if (driven_.state() == slot_cache::phase::open ||
               driven_.state() == slot_cache::phase::revoking) {
      who.announced = driven_.announce();
    }
  }

  void keep(void* what) {
    if (what != nullptr) {
      found_.push_back(what);
    }
  }

  driven_slot_cache driven_;
  std::uintptr_t next_ = 1;
  bool pops_next_ = true;
  bool pending_pop_ = false;
  bool pending_push_ = false;
  thief first_;
  thief second_;
  std::vector<void*> found_;
};

/// Runs every order of the letters, from the sorted one on.
std::size_t run_every_schedule(lido::cache_kind kind, std::size_t items, std::string steps) {
  std::size_t schedules = 0;
  std::sort(steps.begin(), steps.end());
  do {
    actors cast(kind, items);
    for (const char who : steps) {
      cast.step(who);
    }
    EXPECT_EQ(cast.verdict(), "") << "schedule " << steps << " from " << items << " items";
    ++schedules;
  } while (std::next_permutation(steps.begin(), steps.end()));
  return schedules;
}

class SlotCacheSchedules : public ::testing::TestWithParam<lido::cache_kind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, SlotCacheSchedules,
                         ::testing::Values(lido::cache_kind::revocable, lido::cache_kind::locked),
                         [](const auto& kind) { return test::kind_name(kind.param); });

TEST_P(SlotCacheSchedules, OneThiefLosesAndDoublesNothing) {
  for (std::size_t items = 0; items <= 3; ++items) {
    EXPECT_EQ(run_every_schedule(GetParam(), items, "ooooooooaaaa"), 495U);
  }
}

TEST_P(SlotCacheSchedules, TwoThievesLoseAndDoubleNothing) {
  for (std::size_t items = 0; items <= 2; ++items) {
    EXPECT_EQ(run_every_schedule(GetParam(), items, "oooooaaabbb"), 9'240U);
  }
}

TEST_P(SlotCacheSchedules, FullCacheLosesAndDoublesNothing) {
  EXPECT_EQ(run_every_schedule(GetParam(), driven_slot_cache::limit, "ooooooooaaaa"), 495U);
}

}  // namespace
}  // namespace lido::detail
