#include "freelist/tagged_index.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace lido::detail {
namespace {

struct size_and_tag_bits {
  std::uint32_t nodes;
  unsigned tag_bits;
};

constexpr std::array sizes{size_and_tag_bits{1, 63},         size_and_tag_bits{2, 62},
                           size_and_tag_bits{3, 62},         size_and_tag_bits{4, 61},
                           size_and_tag_bits{65'535, 48},    size_and_tag_bits{65'536, 47},
                           size_and_tag_bits{1'048'576, 43}, size_and_tag_bits{max_capacity, 32}};

TEST(TaggedIndexFormat, EveryBitThatTheIndexLeavesIsTag) {
  for (const auto [nodes, tag_bits] : sizes) {
    EXPECT_EQ(tagged_index_format(nodes).tag_bits(), tag_bits) << nodes << " nodes";
  }
}

TEST(TaggedIndexFormat, LargestTagAndIndexComeBackUnchanged) {
  for (const auto [nodes, tag_bits] : sizes) {
    const tagged_index_format format(nodes);
    const std::uint64_t largest_tag = (std::uint64_t{1} << tag_bits) - 1;
    const std::uint64_t word = format.make(nodes - 1, largest_tag);
    EXPECT_EQ(format.index_of(word), nodes - 1) << nodes << " nodes";
    EXPECT_EQ(format.tag_of(word), largest_tag) << nodes << " nodes";
  }
}

TEST(TaggedIndexFormat, IndexZeroIsNotTheEnd) {
  for (const auto [nodes, tag_bits] : sizes) {
    const tagged_index_format format(nodes);
    EXPECT_EQ(format.index_of(format.make(0, 5)), 0U) << nodes << " nodes";
  }
}

TEST(TaggedIndexFormat, EndComesBackAsTheEndWithItsTag) {
  for (const auto [nodes, tag_bits] : sizes) {
    const tagged_index_format format(nodes);
    const std::uint64_t word = format.make(format.end(), 5);
    EXPECT_EQ(format.index_of(word), nodes) << nodes << " nodes";
    EXPECT_EQ(format.tag_of(word), 5U) << nodes << " nodes";
  }
}

TEST(TaggedIndexFormat, TagAfterTheLargestIsZero) {
  for (const auto [nodes, tag_bits] : sizes) {
    const tagged_index_format format(nodes);
    const std::uint64_t largest_tag = (std::uint64_t{1} << tag_bits) - 1;
    EXPECT_EQ(format.make(0, largest_tag + 1), format.make(0, 0)) << nodes << " nodes";
  }
}

TEST(TaggedIndexFormat, FormatForNoNodesHoldsTheEnd) {
  const tagged_index_format format(0);
  EXPECT_EQ(format.index_of(format.make(format.end(), 0)), 0U);
}

TEST(TaggedIndexFormat, NarrowTagHasItsOwnWidth) {
  EXPECT_EQ(tagged_index_format(1000, 1).tag_bits(), 1U);
  EXPECT_EQ(tagged_index_format(1000, 16).tag_bits(), 16U);
}

TEST(TaggedIndexFormat, NarrowTagWrapsToZero) {
  const tagged_index_format format(1000, 1);
  EXPECT_EQ(format.tag_of(format.make(7, 2)), 0U);
}

TEST(TaggedIndexFormat, WidthIsNeverMoreThanTheIndexLeaves) {
  EXPECT_EQ(tagged_index_format(max_capacity, 40).tag_bits(), 32U);
}

/// A free list driven by hand, one step at a time, by the same rules as treiber_list.
template <unsigned MaxTagBits>
class slow_stack {
 public:
  explicit slow_stack(std::uint32_t nodes)
      : format_(nodes, MaxTagBits), links_(nodes), head_(format_.make(nodes, 0)) {}

  [[nodiscard]] std::uint64_t head() const { return head_; }
  [[nodiscard]] slot_index top() const { return format_.index_of(head_); }
  [[nodiscard]] slot_index link(slot_index index) const { return links_[index]; }

  void push(slot_index index) {
    links_[index] = top();
    head_ = format_.make(index, format_.tag_of(head_) + 1);
  }
  slot_index pop() {
    const slot_index index = top();
    head_ = format_.make(links_[index], format_.tag_of(head_));
    return index;
  }

  /// Runs the last step of a pop that read the head and the link of its index earlier.
  bool finish_pop(std::uint64_t seen_head, slot_index seen_link) {
    if (head_ != seen_head) {
      return false;
    }
    head_ = format_.make(seen_link, format_.tag_of(head_));
    return true;
  }

 private:
  tagged_index_format format_;
  std::vector<slot_index> links_;
  std::uint64_t head_;
};

/// ABA: a pop is suspended between its look and its step, while another thread takes all three
/// nodes, keeps the middle one and puts two back. Returns whether the pop then trusts its old look,
/// which would put the kept node back into the list.
template <unsigned MaxTagBits>
bool suspended_pop_is_fooled() {
  slow_stack<MaxTagBits> stack(3);
  for (const slot_index index : {2U, 1U, 0U}) {
    stack.push(index);
  }
  const std::uint64_t seen_head = stack.head();
  const slot_index seen_link = stack.link(stack.top());

  const slot_index popped[] = {stack.pop(), stack.pop(),
                               stack.pop()};  // NOLINT(modernize-avoid-c-arrays)
  stack.push(popped[2]);
  stack.push(popped[0]);
  return stack.finish_pop(seen_head, seen_link);
}

TEST(TaggedIndexFormat, TagOfOneBitLetsAnAbaScheduleThrough) {
  EXPECT_TRUE(suspended_pop_is_fooled<1>());
}

TEST(TaggedIndexFormat, TagOfTwoBitsRefusesTheSameSchedule) {
  EXPECT_FALSE(suspended_pop_is_fooled<2>());
}

TEST(TaggedIndexFormat, WideTagRefusesTheSameSchedule) {
  EXPECT_FALSE(suspended_pop_is_fooled<64>());
}

}  // namespace
}  // namespace lido::detail
