#include "lido/resource/soonest_first.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace lido::detail {
namespace {

struct node : heap_links<node> {
  int key = 0;
};

struct counting {
  long* looks;
  bool operator()(const node& left, const node& right) const {
    ++*looks;
    return left.key < right.key;
  }
};

class SoonestFirst : public ::testing::Test {
 protected:
  void push_shuffled(int count) {
    std::vector<int> keys(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      keys[static_cast<std::size_t>(i)] = i / 2;  // each twice
    }
    std::shuffle(keys.begin(), keys.end(), random_);
    for (const int key : keys) {
      nodes_.emplace_back().key = key;
      heap_.push(nodes_.back());
    }
  }
  std::vector<int> pop_all() {
    std::vector<int> found;
    while (node* const first = heap_.first()) {
      found.push_back(first->key);
      heap_.remove(*first);
    }
    return found;
  }

  std::mt19937 random_{7};
  long looks_ = 0;
  std::deque<node> nodes_;
  soonest_first<node, counting> heap_{counting{&looks_}};
};

TEST_F(SoonestFirst, ComesOutInOrder) {
  push_shuffled(1000);
  const std::vector<int> found = pop_all();
  EXPECT_EQ(found.size(), 1000U);
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
}

TEST_F(SoonestFirst, WhatWasTakenOutDoesNotComeOut) {
  push_shuffled(999);
  std::vector<int> left;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (i % 3 == 0) {
      heap_.remove(nodes_[i]);
      heap_.remove(nodes_[i]);  // no more there: nothing
    } else {
      left.push_back(nodes_[i].key);
    }
  }
  std::sort(left.begin(), left.end());
  EXPECT_EQ(pop_all(), left);
}

TEST_F(SoonestFirst, ComesAndGoesAsOftenAsItLikes) {
  push_shuffled(100);
  for (int turn = 0; turn < 10'000; ++turn) {
    node& one = nodes_[random_() % nodes_.size()];
    heap_.remove(one);
    one.key = static_cast<int>(random_() % 1000);
    heap_.push(one);
    const auto least = std::min_element(nodes_.begin(), nodes_.end(),
                                        [](const node& a, const node& b) { return a.key < b.key; });
    ASSERT_EQ(heap_.first()->key, least->key);
  }
}

TEST_F(SoonestFirst, TakesTheLogarithmOfComparisons) {
  push_shuffled(10'000);
  EXPECT_EQ(pop_all().size(), 10'000U);
  EXPECT_LT(looks_, 3 * 10'000 * 14);
}

}  // namespace
}  // namespace lido::detail
