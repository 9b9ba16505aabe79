#include "base/segment_plan.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace lido::detail {
namespace {

constexpr std::size_t page = 4096;
constexpr std::array<std::size_t, 12> strides{1,   3,    8,    24,    40,    64,
                                              100, 4096, 5000, 12288, 65536, std::size_t{1} << 30U};

TEST(SegmentPlan, SegmentsTogetherHaveExactlyTheCapacity) {
  for (const std::size_t stride : strides) {
    for (const std::uint32_t capacity : {1U, 2U, 511U, 1024U, 1'000'000U, max_capacity}) {
      const segment_plan plan(stride, capacity, page);
      std::uint64_t slots = 0;
      for (std::uint32_t segment = 0; segment < plan.segments(); ++segment) {
        ASSERT_EQ(plan.first_of(segment), slots);
        slots += plan.slots_of(segment);
      }
      EXPECT_EQ(slots, capacity) << stride;
    }
  }
}

TEST(SegmentPlan, EachSegmentBeginsOnAPage) {
  for (const std::size_t stride : strides) {
    const segment_plan plan(stride, 1'000'000, page);
    EXPECT_EQ(plan.slots_of(0) * stride % page, 0U) << stride;
  }
}

TEST(SegmentPlan, SegmentsAreLargeEnoughToBeWorthASystemCallAndFewEnoughToLookAtAll) {
  for (const std::size_t stride : strides) {
    const segment_plan plan(stride, max_capacity, page);
    EXPECT_GE(std::uint64_t{plan.slots_of(0)} * stride, tuning::segment_bytes) << stride;
    EXPECT_LE(plan.segments(), segment_plan::most_segments) << stride;
  }
}

TEST(SegmentPlan, SlotsWithinBytesNeverNeedMore) {
  for (const std::size_t stride : strides) {
    for (const std::size_t bytes :
         {std::size_t{1}, page, std::size_t{65536}, std::size_t{200'000}, std::size_t{1} << 26U}) {
      for (const std::uint32_t wanted : {1U, 1000U, 1'000'000U}) {
        const std::uint32_t slots = segment_plan::slots_within(bytes, stride, wanted, page);
        ASSERT_LE(slots, wanted);
        ASSERT_LE(slots * stride, bytes);
        if (slots > 0 && slots < wanted) {
          const segment_plan plan(stride, slots, page);
          EXPECT_EQ(slots % plan.slots_of(0), 0U) << "whole segments";
        }
      }
    }
  }
}

TEST(SegmentPlan, BytesForLessThanASegmentAreForNothing) {
  EXPECT_EQ(segment_plan::slots_within(65535, 64, 100'000, page), 0U);
  EXPECT_EQ(segment_plan::slots_within(65536, 64, 100'000, page), 1024U);
  EXPECT_EQ(segment_plan::slots_within(640, 64, 10, page), 0U) << "ten slots need a page";
  EXPECT_EQ(segment_plan::slots_within(4096, 64, 10, page), 10U);
}

}  // namespace
}  // namespace lido::detail
