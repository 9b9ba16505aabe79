#include "lido/slot_map/walk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <stdexcept>
#include <vector>

#include "lido/slot_map.hpp"

namespace lido {
namespace {

using number_map = slot_map<int>;
using number_handle = number_map::handle_type;

class Walk : public ::testing::TestWithParam<compaction_mode> {
 protected:
  void fill(int count) {
    for (int i = 0; i < count; ++i) {
      handles.push_back(values.insert(i));
    }
  }
  [[nodiscard]] std::vector<int> sorted() const {
    std::vector<int> all(values.begin(), values.end());
    std::sort(all.begin(), all.end());
    return all;
  }

  number_map values{{.compaction = GetParam()}};
  std::vector<number_handle> handles;
};

INSTANTIATE_TEST_SUITE_P(Modes, Walk,
                         ::testing::Values(compaction_mode::immediate, compaction_mode::deferred,
                                           compaction_mode::manual));

TEST_P(Walk, OverAnEmptyMapComesToItsEnd) {
  EXPECT_TRUE(values.for_each([](int&) { FAIL(); }));
}

TEST_P(Walk, VisitsEachValueOnceAroundHoles) {
  fill(200);
  for (std::size_t i = 0; i < 200; ++i) {
    if (i % 7 == 0 || (i > 60 && i < 140)) {
      values.erase(handles[i]);
    }
  }
  std::map<int, int> visits;
  EXPECT_TRUE(values.for_each([&](int& value) { ++visits[value]; }));
  EXPECT_EQ(visits.size(), values.size());
  for (const auto& [value, times] : visits) {
    EXPECT_EQ(times, 1) << value;
  }
}

TEST_P(Walk, CallbackGetsTheHandleAndTheMap) {
  fill(10);
  values.for_each([this](int& value, number_handle own) { EXPECT_EQ(values.find(own), &value); });
  values.for_each([this](int& value, number_handle own, number_map& of) {
    EXPECT_EQ(&of, &values);
    EXPECT_EQ(of.find(own), &value);
  });
}

TEST_P(Walk, StopsWhenTheCallbackSaysSo) {
  fill(10);
  int visits = 0;
  EXPECT_FALSE(values.for_each([&](int&) { return ++visits < 3; }));
  EXPECT_EQ(visits, 3);
  EXPECT_FALSE(values.for_each([](int&) { return step::stop; }));
  EXPECT_FALSE(values.for_each([](int&) { return step::erase_and_stop; }));
  EXPECT_EQ(values.size(), 9U);
}

TEST_P(Walk, ErasesWhatTheCallbackSays) {
  fill(1000);
  std::size_t visits = 0;
  values.for_each([&](int& value) {
    ++visits;
    return value % 2 == 0 ? step::erase : step::next;
  });
  EXPECT_EQ(visits, 1000U);
  EXPECT_EQ(values.size(), 500U);
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(values.contains(handles[i]), i % 2 != 0);
  }
  EXPECT_EQ(values.holes() == 0, GetParam() == compaction_mode::immediate);
}

TEST_P(Walk, ErasesAllInOneWalk) {
  fill(1000);
  values.for_each([](int&) { return step::erase; });
  EXPECT_TRUE(values.empty());
  fill(10);
  EXPECT_EQ(sorted().size(), 10U);
}

TEST_P(Walk, CallbackMayEraseOwnEarlierAndLaterValues) {
  fill(300);
  std::vector<int> visited;
  values.for_each([&](int& value) {
    const int own = value;
    visited.push_back(own);
    values.erase(handles[static_cast<std::size_t>(own)]);
    if (own + 1 < 300) {
      values.erase(handles[static_cast<std::size_t>(own) + 1]);
    }
    values.erase(handles[static_cast<std::size_t>(own) / 2]);
  });
  EXPECT_TRUE(values.empty());
  EXPECT_EQ(visited.size(), 150U);
}

TEST_P(Walk, CallbackMayEraseItsValueAndSaySo) {
  fill(100);
  values.for_each([&](int&, number_handle own) {
    values.erase(own);
    return step::erase;
  });
  EXPECT_TRUE(values.empty());
}

// The new value may take the index of the old one.
TEST_P(Walk, CallbackMayEraseItsValueInsertAnotherAndSaySo) {
  for (const int count : {1, 40, 100}) {
    values.clear();
    fill(count);
    std::vector<number_handle> fresh;
    values.for_each([&](int& value, number_handle own) {
      if (value < 0) {
        return step::next;
      }
      values.erase(own);
      fresh.push_back(values.insert(-1));
      return step::erase;
    });
    EXPECT_EQ(values.size(), fresh.size());
    for (const number_handle each : fresh) {
      EXPECT_TRUE(values.contains(each));
    }
  }
}

TEST_P(Walk, CallbackMayEvictItsValueAndSaySo) {
  number_map full({.max_size = 2, .compaction = GetParam()});
  (void)full.insert(1);
  (void)full.insert(2);
  number_handle fresh;
  full.for_each([&](int& value) {
    if (value != 1) {
      return step::next;
    }
    fresh = full.emplace_or_evict(std::less<>(), 3);
    return step::erase;
  });
  EXPECT_TRUE(full.contains(fresh));
  EXPECT_EQ(full.size(), 2U);
}

TEST_P(Walk, CallbackMayClearTheMap) {
  fill(300);
  int visits = 0;
  EXPECT_TRUE(values.for_each([&](int&) {
    if (++visits == 100) {
      values.clear();
    }
  }));
  EXPECT_EQ(visits, 100);
  EXPECT_TRUE(values.empty());
}

TEST_P(Walk, CallbackMayInsertAndTheWalkEnds) {
  fill(100);
  std::size_t visits = 0;
  values.for_each([&](int& value) {
    ++visits;
    const int own = value;  // an insert may move the value
    (void)values.insert(own + 1000);
  });
  EXPECT_EQ(visits, 100U);
  EXPECT_EQ(values.size(), 200U);
}

TEST_P(Walk, CallbackMayEraseAndInsertInTurns) {
  fill(500);
  std::map<int, int> old_visits;
  values.for_each([&](int& value) {
    const int own = value;
    if (own < 500) {
      ++old_visits[own];
      values.erase(handles[static_cast<std::size_t>(own)]);
      (void)values.insert(own + 1000);
      (void)values.insert(own + 2000);
    }
  });
  EXPECT_EQ(old_visits.size(), 500U);
  EXPECT_EQ(values.size(), 1000U);
  EXPECT_EQ(sorted().front(), 1000);
}

TEST_P(Walk, WalkInAWalkMayErase) {
  fill(100);
  int outer = 0;
  values.for_each([&](int&) {
    ++outer;
    values.for_each([&](int& value) { return value >= 50 ? step::erase : step::next; });
  });
  EXPECT_EQ(outer, 50);
  EXPECT_EQ(values.size(), 50U);
}

TEST_P(Walk, CompactionAskedForDuringAWalkComesAtItsEnd) {
  fill(100);
  values.for_each([&](int& value, number_handle own) {
    values.erase(own);
    values.compact();
    values.shrink_to_fit();
    (void)value;
    return values.holes() < 50;
  });
  EXPECT_EQ(values.size(), 50U);
  EXPECT_EQ(values.holes(), 0U);
}

TEST_P(Walk, ThatTheCallbackLeavesByAnExceptionEnds) {
  fill(100);
  EXPECT_THROW(values.for_each([&](int& value, number_handle own) {
    values.erase(own);
    if (value == 10) {
      throw std::runtime_error("enough");
    }
  }),
               std::runtime_error);
  EXPECT_EQ(values.size(), 89U);
  values.compact();
  EXPECT_EQ(values.holes(), 0U);
}

TEST_P(Walk, OverAConstMapStepsOverHolesAndMayStop) {
  fill(100);
  values.for_each([](int& value) { return value % 2 == 0 ? step::erase : step::next; });
  int visits = 0;
  const number_map& fixed = values;
  EXPECT_TRUE(fixed.for_each([&](const int& value) {
    EXPECT_EQ(value % 2, 1);
    ++visits;
  }));
  EXPECT_EQ(visits, 50);
  EXPECT_FALSE(fixed.for_each([](const int&) { return false; }));
  fixed.for_each([&](const int& value, number_handle own) { EXPECT_EQ(fixed.find(own), &value); });
}

// The walk visits only indices before the old end, and none twice, wherever the end is then.
TEST_P(Walk, CallbackMayEraseFromTheEndToBeforeItsOwnPlace) {
  for (const int fresh : {0, 50, 200}) {
    values.clear();
    handles.clear();
    fill(100);
    std::map<int, int> visits;
    EXPECT_TRUE(values.for_each([&](int& value) {
      const int own = value;
      ++visits[own];
      if (own == 0) {
        values.erase(handles[0]);  // a hole, so that the rest uses bits
      }
      if (own == 30) {
        for (std::size_t i = 99; i > 0; --i) {
          values.erase(handles[i]);
        }
        for (int i = 0; i < fresh; ++i) {
          (void)values.insert(1000 + i);
        }
      }
    }));
    EXPECT_EQ(std::distance(visits.begin(), visits.lower_bound(1000)), 31);
    for (const auto& [value, times] : visits) {
      EXPECT_EQ(times, 1) << value;
    }
    EXPECT_EQ(values.size(), static_cast<std::size_t>(fresh));
  }
}

TEST_P(Walk, CallbackThatTakesTheMapMayEraseAndStop) {
  fill(100);
  EXPECT_TRUE(values.for_each([](int& value, number_handle /*own*/, number_map& /*of*/) {
    return value % 2 == 0 ? step::erase : step::next;
  }));
  EXPECT_EQ(values.size(), 50U);
  EXPECT_FALSE(
      values.for_each([](int&, number_handle, number_map&) { return step::erase_and_stop; }));
  EXPECT_EQ(values.size(), 49U);
  EXPECT_FALSE(values.for_each([](int&, number_handle, number_map&) { return false; }));
}

TEST_P(Walk, TakesAPlainFunction) {
  fill(3);
  values.for_each(+[](int& value) { value *= 10; });
  EXPECT_EQ(sorted(), (std::vector{0, 10, 20}));
}

}  // namespace
}  // namespace lido
