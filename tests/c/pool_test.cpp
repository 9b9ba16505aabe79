// The C interface, as a caller in C++ sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lido/debug/misuse.hpp"
#include "lido/lido.h"
#include "support/crew.hpp"
#include "support/misuse_log.hpp"
#include "support/sanitizers.hpp"

namespace lido {
namespace {

using ::testing::ElementsAre;

lido_pool_options options_of(std::size_t block_bytes, std::size_t blocks) {
  lido_pool_options options{};
  options.size = sizeof(options);
  options.block_bytes = block_bytes;
  options.blocks = blocks;
  return options;
}

lido_pool* make(const lido_pool_options& options) {
  lido_pool* pool = nullptr;
  EXPECT_EQ(lido_pool_create(&options, &pool), LIDO_OK);
  return pool;
}

/// Returns the error for options that no pool can have.
int refusal(const lido_pool_options& options) {
  int anything = 0;
  auto* pool = reinterpret_cast<lido_pool*>(&anything);
  const int error = lido_pool_create(&options, &pool);
  EXPECT_EQ(pool, nullptr);
  return error;
}

TEST(CPool, HasExactlyItsBlocks) {
  lido_pool* const pool = make(options_of(24, 5));
  EXPECT_EQ(lido_pool_capacity(pool), 5U);
  std::set<void*> blocks;
  for (std::size_t i = 1; i <= 5; ++i) {
    void* const block = lido_pool_acquire(pool);
    ASSERT_NE(block, nullptr);
    std::memset(block, 0xAB, 24);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignof(std::max_align_t), 0U);
    blocks.insert(block);
    EXPECT_EQ(lido_pool_in_use(pool), i);
  }
  EXPECT_EQ(blocks.size(), 5U);
  EXPECT_EQ(lido_pool_acquire(pool), nullptr);
  for (void* const block : blocks) {
    EXPECT_EQ(lido_pool_release(pool, block), LIDO_OK);
  }
  EXPECT_EQ(lido_pool_in_use(pool), 0U);
  EXPECT_EQ(lido_pool_destroy(pool), LIDO_OK);
}

TEST(CPool, AlignsAsAsked) {
  lido_pool_options options = options_of(1, 3);
  options.alignment = 4096;
  lido_pool* const pool = make(options);
  for (void* block = lido_pool_acquire(pool); block != nullptr; block = lido_pool_acquire(pool)) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 4096, 0U);
  }
  EXPECT_EQ(lido_pool_in_use(pool), 3U);
  EXPECT_EQ(lido_pool_destroy(pool), LIDO_OK) << "with blocks in use";
}

TEST(CPool, RefusesWrongOptionsByCode) {
  EXPECT_EQ(refusal(options_of(0, 8)), LIDO_ERROR_BLOCK_BYTES);
  EXPECT_EQ(refusal(options_of(8, 0)), LIDO_ERROR_BLOCKS);
#if SIZE_MAX > UINT32_MAX
  EXPECT_EQ(refusal(options_of(8, 0xFFFF'FFFF)), LIDO_ERROR_BLOCKS);
#endif
  EXPECT_EQ(refusal(options_of(SIZE_MAX, 1)), LIDO_ERROR_NO_MEMORY);
  EXPECT_EQ(refusal(options_of(SIZE_MAX / 2, 1)), LIDO_ERROR_NO_MEMORY);
  EXPECT_EQ(refusal(options_of(SIZE_MAX / 8, 8)), LIDO_ERROR_NO_MEMORY);
  for (const std::size_t alignment : {3U, 24U, 8192U}) {
    lido_pool_options options = options_of(8, 8);
    options.alignment = alignment;
    EXPECT_EQ(refusal(options), LIDO_ERROR_ALIGNMENT) << alignment;
  }
}

TEST(CPool, RefusesNull) {
  const lido_pool_options options = options_of(8, 8);
  int anything = 0;
  auto* pool = reinterpret_cast<lido_pool*>(&anything);
  EXPECT_EQ(lido_pool_create(&options, nullptr), LIDO_ERROR_NULL);
  EXPECT_EQ(lido_pool_create(nullptr, &pool), LIDO_ERROR_NULL);
  EXPECT_EQ(pool, nullptr);
  EXPECT_EQ(lido_pool_destroy(nullptr), LIDO_ERROR_NULL);
  EXPECT_EQ(lido_pool_acquire(nullptr), nullptr);
  EXPECT_EQ(lido_pool_release(nullptr, &pool), LIDO_ERROR_NULL);
  EXPECT_EQ(lido_pool_in_use(nullptr), 0U);
  EXPECT_EQ(lido_pool_capacity(nullptr), 0U);
}

/// Options of a program that is compiled for a later version.
struct later_options {
  lido_pool_options known;
  std::array<std::size_t, 2> later;
};

TEST(CPool, TakesOptionsOfALaterVersionUnlessTheyAskForMore) {
  later_options options{options_of(8, 8), {}};
  options.known.size = sizeof(options);
  EXPECT_EQ(lido_pool_destroy(make(options.known)), LIDO_OK);
  options.later[1] = 1;
  EXPECT_EQ(refusal(options.known), LIDO_ERROR_OPTIONS);
  options.later[1] = 0;
  options.known.flags = 2;
  EXPECT_EQ(refusal(options.known), LIDO_ERROR_OPTIONS);
}

TEST(CPool, RefusesSizesThatNoOptionsHave) {
  for (const std::size_t size : {std::size_t{0}, sizeof(lido_pool_options) - 1, SIZE_MAX}) {
    lido_pool_options options = options_of(8, 8);
    options.size = size;
    EXPECT_EQ(refusal(options), LIDO_ERROR_OPTIONS) << size;
  }
}

TEST(CPool, ReleasesNullAndRefusesAddressesOutside) {
  lido_pool* const pool = make(options_of(8, 2));
  std::size_t stranger = 0;
  auto* const block = static_cast<std::byte*>(lido_pool_acquire(pool));
  EXPECT_EQ(lido_pool_release(pool, nullptr), LIDO_OK);
  EXPECT_EQ(lido_pool_release(pool, &stranger), LIDO_ERROR_NOT_IN_USE);
  EXPECT_EQ(lido_pool_in_use(pool), 1U);
  EXPECT_EQ(lido_pool_release(pool, block), LIDO_OK);
  EXPECT_EQ(lido_pool_destroy(pool), LIDO_OK);
}

TEST(CPool, BlocksInCachesOfOtherThreadsAreFound) {
  constexpr std::size_t blocks = 200;
  lido_pool* const pool = make(options_of(16, blocks));
  test::run_crew(4, [&](unsigned /*thread*/) {
    for (int round = 0; round < 1000; ++round) {
      void* const one = lido_pool_acquire(pool);
      ASSERT_NE(one, nullptr);
      ASSERT_EQ(lido_pool_release(pool, one), LIDO_OK);
    }
  });  // the threads have ended
  std::vector<void*> all;
  while (void* const block = lido_pool_acquire(pool)) {
    all.push_back(block);
  }
  EXPECT_EQ(all.size(), blocks);
  std::thread([&] {
    for (void* const block : all) {
      EXPECT_EQ(lido_pool_release(pool, block), LIDO_OK);
    }
  }).join();
  EXPECT_EQ(lido_pool_in_use(pool), 0U);
  EXPECT_EQ(lido_pool_destroy(pool), LIDO_OK);
}

TEST(CPool, CheckedReportsByName) {
  test::misuse_log log;
  lido_pool_options options = options_of(64, 4);
  options.name = "packets";
  options.flags = LIDO_POOL_CHECKED;
  lido_pool* const pool = make(options);
  auto* const block = static_cast<std::byte*>(lido_pool_acquire(pool));
  std::array<std::byte, 64> stranger{};
  EXPECT_EQ(lido_pool_release(pool, stranger.data()), LIDO_ERROR_NOT_IN_USE);
  EXPECT_EQ(lido_pool_release(pool, block + 16), LIDO_ERROR_NOT_IN_USE);
  EXPECT_EQ(lido_pool_release(pool, block), LIDO_OK);
  EXPECT_EQ(lido_pool_release(pool, block), LIDO_ERROR_NOT_IN_USE);
  EXPECT_NE(lido_pool_acquire(pool), nullptr);
  EXPECT_EQ(lido_pool_destroy(pool), LIDO_OK);
  EXPECT_THAT(log.kinds(), ElementsAre(misuse_kind::foreign_pointer, misuse_kind::inside_slot,
                                       misuse_kind::double_release, misuse_kind::leak));
  EXPECT_EQ(log.entries()[2].pool_name, "packets");
}

TEST(CPool, CopiesItsName) {
  test::misuse_log log;
  std::string name = "a name that is longer than what a string has room for";
  lido_pool_options options = options_of(64, 4);
  options.name = name.c_str();
  options.flags = LIDO_POOL_CHECKED;
  lido_pool* const pool = make(options);
  name.assign(name.size(), '?');
  EXPECT_NE(lido_pool_acquire(pool), nullptr);
  EXPECT_EQ(lido_pool_destroy(pool), LIDO_OK);
  ASSERT_EQ(log.entries().size(), 1U);
  EXPECT_EQ(log.entries()[0].pool_name, "a name that is longer than what a string has room for");
}

TEST(CPool, EachErrorHasItsText) {
  std::set<std::string> texts;
  for (int error = LIDO_OK; error <= LIDO_ERROR_NOT_IN_USE + 1; ++error) {
    texts.insert(lido_error_text(error));
  }
  EXPECT_EQ(texts.size(), LIDO_ERROR_NOT_IN_USE + 2U);
  EXPECT_STREQ(lido_error_text(-1), lido_error_text(1000));
}

TEST(CPool, VersionIsThatOfTheHeader) {
  EXPECT_EQ(lido_version(), LIDO_VERSION);
}

#if LIDO_TEST_ASAN
TEST(CPoolDeathTest, AddressSanitizerRefusesFreeBlocks) {
  lido_pool* const pool = make(options_of(60, 4));
  auto* const block = static_cast<volatile char*>(lido_pool_acquire(pool));
  EXPECT_DEATH(block[60] = 'x', "use-after-poison");
  EXPECT_EQ(lido_pool_release(pool, const_cast<char*>(block)), LIDO_OK);
  EXPECT_DEATH(block[0] = 'x', "use-after-poison");
  EXPECT_DEATH(lido_pool_release(pool, const_cast<char*>(block)), "released twice");
  EXPECT_EQ(lido_pool_destroy(pool), LIDO_OK);
}
#endif

}  // namespace
}  // namespace lido
