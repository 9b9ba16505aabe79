#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "lido/freelist/index_stack.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/stack_kinds.hpp"

namespace lido::detail {
namespace {

constexpr std::uint32_t shared_nodes = 64;
constexpr unsigned crew_size = 4;

/// What a crew does to one stack. The counters of the indices are plain: an index that two threads
/// hold at once, or that passes between them without an edge, is a data race.
template <class Stack>
class SharedIndexStack : public ::testing::Test {
 protected:
  SharedIndexStack() {
    for (slot_index index = 0; index < shared_nodes; ++index) {
      stack_.push(index);
    }
  }

  void touch(slot_index index) { ++touched_.at(index); }

  [[nodiscard]] int touches() const { return std::accumulate(touched_.begin(), touched_.end(), 0); }

  [[nodiscard]] std::size_t left_in_stack() {
    std::vector<slot_index> all;
    for (slot_index index = stack_.pop(); index != null_slot; index = stack_.pop()) {
      all.push_back(index);
    }
    return test::count_distinct(all);
  }

  Stack stack_{shared_nodes};

 private:
  std::array<int, shared_nodes> touched_{};
};
TYPED_TEST_SUITE(SharedIndexStack, test::shared_stacks, test::stack_names);

TYPED_TEST(SharedIndexStack, SinglesBelongToOneThreadAtATime) {
  constexpr int rounds = 20'000;
  test::run_crew(crew_size, [this](unsigned /*index*/) {
    for (int round = 0; round < rounds; ++round) {
      const slot_index index = this->stack_.pop();
      ASSERT_NE(index, null_slot);  // 64 nodes, 4 threads, one each
      this->touch(index);
      this->stack_.push(index);
    }
  });
  EXPECT_EQ(this->touches(), rounds * static_cast<int>(crew_size));
  EXPECT_EQ(this->left_in_stack(), shared_nodes);
}

TYPED_TEST(SharedIndexStack, ChainsBelongToOneThreadAtATime) {
  test::run_crew(crew_size, [this](unsigned crew_index) {
    std::array<slot_index, shared_nodes> held{};
    for (unsigned round = 0; round < 10'000; ++round) {
      const std::size_t most = 1 + (round * 7 + crew_index) % 24;
      const std::uint32_t count = this->stack_.pop_chain(std::span(held).first(most));
      for (std::uint32_t i = 0; i < count; ++i) {
        this->touch(held[i]);
      }
      this->stack_.push_chain(std::span<const slot_index>(held).first(count));
    }
  });
  EXPECT_EQ(this->left_in_stack(), shared_nodes);
}

TYPED_TEST(SharedIndexStack, EmptyStackIsEmptyForEveryThread) {
  ASSERT_EQ(this->left_in_stack(), shared_nodes);
  test::run_crew(crew_size,
                 [this](unsigned /*index*/) { EXPECT_EQ(this->stack_.pop(), null_slot); });
}

}  // namespace
}  // namespace lido::detail
