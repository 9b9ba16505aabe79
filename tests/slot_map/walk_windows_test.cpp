// Walks around earlier holes: the visited values, wherever the holes are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "lido/slot_map.hpp"

namespace lido {
namespace {

/// Selects which of `count` values, value i at index i, are erased before the walk.
using layout = bool (*)(int value, std::mt19937& random);

class WalkWindows : public ::testing::TestWithParam<layout> {
 protected:
  void fill(int count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<slot_handle<int>> handles;
    for (int i = 0; i < count; ++i) {
      handles.push_back(values.insert(i));
    }
    for (int i = 0; i < count; ++i) {
      if (GetParam()(i, random)) {
        values.erase(handles[static_cast<std::size_t>(i)]);
      } else {
        living.push_back(i);
      }
    }
  }

  slot_map<int> values{{.compaction = compaction_mode::manual}};
  std::vector<int> living;
};

constexpr int counts[] = {1, 2, 63, 64, 65, 127, 128, 129, 191, 1000};

TEST_P(WalkWindows, MeetsEachOnceInTheOrderOfMemory) {
  for (const int count : counts) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(::testing::Message() << count << " places, seed " << seed);
      values.clear();
      values.shrink_to_fit();
      living.clear();
      fill(count, seed);
      std::vector<int> met;
      EXPECT_TRUE(values.for_each([&](const int& value) { met.push_back(value); }));
      ASSERT_EQ(met, living);
    }
  }
}

TEST_P(WalkWindows, StopsAtEachValueAndErasesUpToThere) {
  for (int last = 0; last < 200; ++last) {
    values.clear();
    values.shrink_to_fit();
    living.clear();
    fill(200, 1);
    const std::size_t before = values.size();
    std::vector<int> met;
    values.for_each([&](const int& value) {
      met.push_back(value);
      return value >= last ? step::erase_and_stop : step::erase;
    });
    const auto behind =
        std::find_if(living.begin(), living.end(), [&](int value) { return value >= last; });
    living.resize(static_cast<std::size_t>(behind - living.begin()) +
                  (behind != living.end() ? 1U : 0U));
    ASSERT_EQ(met, living) << last;
    ASSERT_EQ(values.size(), before - met.size()) << last;
    values.for_each([&](const int& value) { ASSERT_GT(value, met.back()); });
  }
}

template <unsigned Percent>
bool by_chance(int /*value*/, std::mt19937& random) {
  return random() % 100 < Percent;
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, WalkWindows,
    ::testing::Values(
        by_chance<1>, by_chance<10>, by_chance<25>, by_chance<45>, by_chance<60>, by_chance<95>,
        [](int value, std::mt19937&) { return value % 4 == 3; },
        [](int value, std::mt19937&) { return value % 256 >= 64; },
        [](int value, std::mt19937&) { return value / 64 % 2 == 1; },
        [](int value, std::mt19937&) { return value % 128 == 127; },
        [](int value, std::mt19937& random) { return value < 500 && random() % 8 != 0; }));

}  // namespace
}  // namespace lido
