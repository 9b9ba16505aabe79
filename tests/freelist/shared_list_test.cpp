#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "lido/freelist/index_list.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/list_kinds.hpp"

namespace lido::detail {
namespace {

constexpr std::uint32_t shared_nodes = 64;
constexpr unsigned crew_size = 4;

/// Operations of a crew on one list. The counters of the indices are plain: an index that two
/// threads hold at once, or that passes between them without an edge, is a data race.
class SharedIndexList : public ::testing::TestWithParam<test::list_kind> {
 protected:
  SharedIndexList() {
    for (slot_index index = 0; index < shared_nodes; ++index) {
      list_->push(index);
    }
  }

  void touch(slot_index index) { ++touched_.at(index); }

  [[nodiscard]] int touches() const { return std::accumulate(touched_.begin(), touched_.end(), 0); }

  [[nodiscard]] std::size_t left_in_list() {
    std::vector<slot_index> all;
    for (slot_index index = list_->pop(); index != null_slot; index = list_->pop()) {
      all.push_back(index);
    }
    return test::count_distinct(all);
  }

  std::unique_ptr<index_list> list_ = GetParam().make_empty(shared_nodes);

 private:
  std::array<int, shared_nodes> touched_{};
};
INSTANTIATE_TEST_SUITE_P(Each, SharedIndexList, ::testing::ValuesIn(test::shared_lists()),
                         test::list_name);

TEST_P(SharedIndexList, SinglesBelongToOneThreadAtATime) {
  constexpr int rounds = 20'000;
  test::run_crew(crew_size, [this](unsigned /*index*/) {
    for (int round = 0; round < rounds; ++round) {
      const slot_index index = list_->pop();
      ASSERT_NE(index, null_slot);  // 64 nodes, 4 threads, one each
      touch(index);
      list_->push(index);
    }
  });
  EXPECT_EQ(touches(), rounds * static_cast<int>(crew_size));
  EXPECT_EQ(left_in_list(), shared_nodes);
}

TEST_P(SharedIndexList, ChainsBelongToOneThreadAtATime) {
  test::run_crew(crew_size, [this](unsigned crew_index) {
    std::array<slot_index, shared_nodes> held{};
    for (unsigned round = 0; round < 10'000; ++round) {
      const std::size_t most = 1 + (round * 7 + crew_index) % 24;
      const std::uint32_t count = list_->pop_chain(std::span(held).first(most));
      for (std::uint32_t i = 0; i < count; ++i) {
        touch(held[i]);
      }
      list_->push_chain(std::span<const slot_index>(held).first(count));
    }
  });
  EXPECT_EQ(left_in_list(), shared_nodes);
}

TEST_P(SharedIndexList, EmptyListIsEmptyForEveryThread) {
  ASSERT_EQ(left_in_list(), shared_nodes);
  test::run_crew(crew_size, [this](unsigned /*index*/) { EXPECT_EQ(list_->pop(), null_slot); });
}

}  // namespace
}  // namespace lido::detail
