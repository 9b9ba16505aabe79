// Checked blocks report what checked pools report, in resources with one size and with several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <list>
#include <memory>
#include <memory_resource>
#include <new>
#include <string>

#include "lido/block_resource.hpp"
#include "lido/debug/misuse.hpp"
#include "support/counting_upstream.hpp"
#include "support/crew.hpp"
#include "support/misuse_log.hpp"
#include "support/sanitizers.hpp"

namespace lido {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Checked blocks; the parameter is the number of sizes.
class CheckedBlocks : public ::testing::TestWithParam<std::size_t> {
 protected:
  static block_resource_options options(std::string_view name = "nodes") {
    block_resource_options options{.name = name, .checked = true};
    if (GetParam() == 1) {
      options.block_bytes = 64;
      options.blocks = 8;
    } else {
      options.sizes = {{.bytes = 64, .blocks = 8}, {.bytes = 256, .blocks = 4}};
    }
    return options;
  }
  /// Returns the most that a block can hold: the largest size.
  static std::size_t bytes() { return GetParam() == 1 ? 64 : 256; }

  test::misuse_log log_;
};
INSTANTIATE_TEST_SUITE_P(Sizes, CheckedBlocks, ::testing::Values(1, 2));

TEST_P(CheckedBlocks, DoubleDeallocationIsReportedAndWithoutEffect) {
  block_resource blocks(options());
  void* const one = blocks.allocate(bytes());
  blocks.deallocate(one, bytes());
  blocks.deallocate(one, bytes());
  ASSERT_THAT(log_.kinds(), ElementsAre(misuse_kind::double_release));
  EXPECT_EQ(log_.entries()[0].pool_name, "nodes");
  EXPECT_EQ(log_.entries()[0].object, one);
  void* const again = blocks.allocate(bytes());
  EXPECT_NE(again, blocks.allocate(bytes())) << "handed out twice";
}

TEST_P(CheckedBlocks, DoubleDeallocationByAllocatorIsReported) {
  block_resource blocks(options());
  block_allocator<std::array<char, 64>> allocator(blocks);
  auto* const one = allocator.allocate(1);
  allocator.deallocate(one, 1);
  allocator.deallocate(one, 1);
  EXPECT_THAT(log_.kinds(), ElementsAre(misuse_kind::double_release));
}

TEST_P(CheckedBlocks, AddressInsideABlockIsReportedAndWithoutEffect) {
  block_resource blocks(options());
  auto* const one = static_cast<std::byte*>(blocks.allocate(bytes()));
  blocks.deallocate(one + 16, bytes());
  EXPECT_THAT(log_.kinds(), ElementsAre(misuse_kind::inside_slot));
  blocks.deallocate(one, bytes());
  EXPECT_THAT(log_.kinds(), ElementsAre(misuse_kind::inside_slot));
}

TEST_P(CheckedBlocks, ForeignAddressIsReportedAndDoesNotGoUpstream) {
  test::counting_upstream upstream;
  auto with_upstream = options();
  with_upstream.upstream = &upstream;
  block_resource blocks(with_upstream);
  std::array<std::byte, 256> stranger{};
  blocks.deallocate(stranger.data(), bytes());
  EXPECT_THAT(log_.kinds(), ElementsAre(misuse_kind::foreign_pointer));
}

TEST_P(CheckedBlocks, BlockOfAnotherResourceIsReported) {
  block_resource blocks(options());
  block_resource others(options("others"));
  void* const one = others.allocate(bytes());
  blocks.deallocate(one, bytes());
  EXPECT_THAT(log_.kinds(), ElementsAre(misuse_kind::wrong_pool));
  others.deallocate(one, bytes());
}

TEST_P(CheckedBlocks, LeakIsReportedWithItsPlace) {
  auto blocks = std::make_unique<block_resource>(options());
  (void)blocks->allocate(bytes());
  blocks.reset();
  ASSERT_THAT(log_.kinds(), ElementsAre(misuse_kind::leak));
  EXPECT_EQ(log_.entries()[0].count, 1U);
  EXPECT_THAT(log_.entries()[0].report, HasSubstr("pool 'nodes' ends with 1 of"));
  EXPECT_THAT(log_.entries()[0].report, HasSubstr("acquired by thread"));
}

#if !LIDO_TEST_ASAN  // which ends the program at the write itself
TEST_P(CheckedBlocks, LateWriteIsReportedWhereverItIs) {
  std::size_t reports = 0;
  for (const std::size_t where : {std::size_t{0}, std::size_t{3}, bytes() / 2, bytes() - 1}) {
    block_resource blocks(options());
    auto* const one = static_cast<char*>(blocks.allocate(bytes()));
    blocks.deallocate(one, bytes());
    one[where] = 'x';
    blocks.deallocate(blocks.allocate(bytes()), bytes());
    EXPECT_EQ(log_.kinds().size(), ++reports) << where;
  }
  EXPECT_THAT(log_.kinds(), Each(misuse_kind::write_after_release));
}
#endif

TEST_P(CheckedBlocks, RightUseIsNotReported) {
  test::counting_upstream upstream;
  auto with_upstream = options();
  with_upstream.upstream = &upstream;
  {
    block_resource blocks(with_upstream);
    std::pmr::list<int> numbers({1, 2, 3}, &blocks);
    EXPECT_EQ(blocks.stats().blocks.in_use, 3U);
    blocks.deallocate(blocks.allocate(1000), 1000);    // from upstream
    blocks.deallocate(blocks.allocate(8, 64), 8, 64);  // as well
    blocks.deallocate(blocks.allocate(0), 0);
    test::run_crew(3, [&](unsigned /*thread*/) {
      for (int round = 0; round < 300; ++round) {
        void* const one = blocks.allocate(bytes() / 2);
        blocks.deallocate(one, bytes() / 2);
      }
    });
  }
  EXPECT_THAT(log_.kinds(), IsEmpty());
}

TEST_P(CheckedBlocks, CapacityIsExactAndOverflowGoesUpstreamAndBack) {
  test::counting_upstream upstream;
  auto with_upstream = options();
  with_upstream.upstream = &upstream;
  with_upstream.overflow_to_upstream = true;
  {
    block_resource blocks(with_upstream);
    const std::size_t capacity = GetParam() == 1 ? 8 : 4;
    std::list<void*> all;
    for (std::size_t i = 0; i < capacity + 2; ++i) {
      all.push_back(blocks.allocate(bytes()));
    }
    EXPECT_EQ(blocks.upstream_requests(), 2U);
    for (void* const one : all) {
      blocks.deallocate(one, bytes());
    }
  }
  EXPECT_THAT(log_.kinds(), IsEmpty());
}

}  // namespace
}  // namespace lido
