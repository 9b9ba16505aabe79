/// Compares random operations on a slot map with a model that cannot be wrong, throughout. Also
/// built with broken rules, and must fail then.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "lido/slot_map.hpp"
#include "support/few_generations.hpp"

namespace lido {
namespace {

// Few generations, so that slots are used up all the time.
using tested_map = slot_map<int, test::few_generations<5>>;
using number_handle = tested_map::handle_type;

class session {
 public:
  session(std::uint32_t seed, compaction_mode mode)
      : random_(seed),
        map_({.max_size = max_size,
              .reserve = seed % 3 * 20,
              .shrink_threshold = 16,
              .compaction = mode}) {}

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      act(static_cast<std::uint32_t>(random_() % 100));
      if (i % 16 == 0) {
        compare();
      }
    }
    compare();
  }

 private:
  static constexpr std::size_t max_size = 300;

  void act(std::uint32_t dice) {
    if (dice < 45) {
      insert();
    } else if (dice < 75) {
      erase();
    } else if (dice < 85) {
      ask();
    } else if (dice < 92) {
      walk();
    } else if (dice < 96) {
      map_.compact();
    } else if (dice < 98) {
      map_.reserve(random_() % max_size);
    } else if (dice < 99) {
      map_.shrink_to_fit();
    } else if (random_() % 2 == 0) {
      rearrange();
    } else if (random_() % 4 == 0) {
      go_back();
    } else if (random_() % 8 == 0) {
      many();
    }
  }

  void insert() {
    const int value = next_++;
    const number_handle given = model_.size() == max_size ? evict(value) : map_.insert(value);
    note(given, value);
  }

  number_handle evict(int value) {
    EXPECT_FALSE(map_.try_emplace(value));
    const auto least = std::min_element(model_.begin(), model_.end(),
                                        [](auto& a, auto& b) { return a.second < b.second; });
    forget(least->first);
    return map_.emplace_or_evict(std::less<>(), value);
  }

  void note(number_handle given, int value) {
    EXPECT_TRUE(given);
    EXPECT_TRUE(model_.emplace(given, value).second);
    EXPECT_FALSE(std::binary_search(gone_.begin(), gone_.end(), given)) << "a handle came twice";
  }

  void forget(number_handle old) {
    gone_.insert(std::upper_bound(gone_.begin(), gone_.end(), old), old);
    model_.erase(old);
  }

  number_handle any() {
    auto it = model_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random_() % model_.size()));
    return it->first;
  }

  void erase() {
    if (!model_.empty()) {
      const number_handle old = any();
      EXPECT_TRUE(map_.erase(old));
      EXPECT_FALSE(map_.erase(old));
      forget(old);
    }
  }

  void ask() {
    if (!gone_.empty()) {
      EXPECT_FALSE(map_.contains(gone_[random_() % gone_.size()]));
    }
    if (!model_.empty()) {
      const number_handle there = any();
      const int* const found = map_.find(there);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(*found, model_.at(there));
      EXPECT_EQ(map_.handle_of(*found), there);
    }
  }

  // Rearranges values, none of which may change what a handle refers to.
  void rearrange() {
    map_.sort([this](int a, int b) { return (a ^ mask_) < (b ^ mask_); });
    mask_ = (mask_ * 5 + 1) & 0xFFFF;
    if (model_.size() > 1) {
      EXPECT_TRUE(map_.swap(any(), any()));
    }
    tested_map copy(map_);
    copy.erase_if([](int /*value*/) { return true; });
    EXPECT_TRUE(copy.empty());
  }

  // Saves, continues, and restores. Then undoes an erase, or fails to.
  void go_back() {
    const auto now = map_.snapshot();
    const std::vector<int> values(now.values.begin(), now.values.end());
    const std::vector<std::uint64_t> slots(now.table.begin(), now.table.end());
    const std::uint32_t first_free = now.first_free;
    const std::uint32_t first_generation = now.first_generation;
    for (int i = 0; i < 20 && !model_.empty(); ++i) {
      map_.erase(any());
      (void)map_.try_emplace(-1);
    }
    map_.restore({slot_map_format, values, slots, first_free, first_generation});
    if (gone_.empty() || model_.size() == max_size) {
      return;
    }
    const auto old = gone_.begin() + static_cast<std::ptrdiff_t>(random_() % gone_.size());
    const number_handle again = *old;
    if (map_.emplace_at(again, next_)) {
      gone_.erase(old);
      note(again, next_++);
    }
  }

  // Erases some values by the walk's verdict, some by their handles, and inserts others.
  void walk() {
    const std::map<number_handle, int> before = model_;
    std::map<number_handle, int> visits;
    map_.for_each([&](int& value, number_handle own) {
      EXPECT_EQ(++visits[own], 1);
      EXPECT_EQ(model_.count(own), 1U);
      const int seen = value;
      const auto dice = random_() % 16;
      if (dice == 0) {
        erase();
      } else if (dice == 1 && model_.size() < max_size) {
        insert();
      } else if (dice == 2 && model_.count(own) != 0) {
        EXPECT_EQ(model_.at(own), seen);
        forget(own);
        return step::erase;
      }
      return step::next;
    });
    for (const auto& [there, value] : before) {
      EXPECT_TRUE(model_.count(there) == 0 || visits.count(there) == 1) << "left out " << value;
    }
  }

  void many() {
    const bool clear = random_() % 8 == 0;
    if (clear) {
      map_.clear();
    }
    while (!model_.empty() && (clear || random_() % 64 != 0)) {
      const number_handle old = any();
      EXPECT_EQ(map_.erase(old), !clear);
      forget(old);
    }
  }

  void compare() {
    EXPECT_EQ(map_.size(), model_.size());
    std::map<number_handle, int> seen;
    for (auto it = map_.begin(); it != map_.end(); ++it) {
      EXPECT_TRUE(seen.emplace(it.handle(), *it).second);
    }
    EXPECT_EQ(seen, model_);
    for (const auto& [there, value] : model_) {
      const int* const found = map_.find(there);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(*found, value);
    }
    for (const number_handle old : gone_) {
      ASSERT_FALSE(map_.contains(old));
    }
    gone_.erase(gone_.begin(), gone_.begin() + static_cast<std::ptrdiff_t>(gone_.size() / 1000));
  }

  std::minstd_rand random_;
  tested_map map_;
  std::map<number_handle, int> model_;
  std::vector<number_handle> gone_;  ///< sorted
  int next_ = 0;
  int mask_ = 0;
};

class SlotMapModel : public ::testing::TestWithParam<compaction_mode> {};

INSTANTIATE_TEST_SUITE_P(Modes, SlotMapModel,
                         ::testing::Values(compaction_mode::immediate, compaction_mode::deferred,
                                           compaction_mode::manual));

TEST_P(SlotMapModel, AgreesWithTheMap) {
  for (std::uint32_t seed = 1; seed <= 20 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    session(seed, GetParam()).run(2000);
  }
}

}  // namespace
}  // namespace lido
