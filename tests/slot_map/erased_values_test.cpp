// AddressSanitizer knows the slots of slot maps that contain no value.
#include "support/sanitizers.hpp"

#if LIDO_TEST_ASAN
#include <gtest/gtest.h>
#include <sanitizer/asan_interface.h>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "lido/concurrent_slot_map.hpp"
#include "lido/slot_map.hpp"

namespace lido {
namespace {

using wide = std::array<long, 4>;

bool is_poisoned(const void* pointer) {
  return __asan_address_is_poisoned(pointer) != 0;
}
bool is_open(const void* pointer, std::size_t bytes) {
  return __asan_region_is_poisoned(const_cast<void*>(pointer), bytes) == nullptr;
}

TEST(ErasedValues, AHoleIsPoisonedUntilItIsFilled) {
  slot_map<wide> map({.compaction = compaction_mode::manual});
  std::vector<slot_handle<wide>> handles;
  for (long i = 0; i < 100; ++i) {
    handles.push_back(map.insert({i}));
  }
  wide* const value = map.find(handles[50]);
  map.erase(handles[50]);
  EXPECT_TRUE(is_poisoned(value));
  EXPECT_TRUE(is_open(value - 1, sizeof(wide)));
  EXPECT_TRUE(is_open(value + 1, sizeof(wide)));
  (void)map.insert({7});
  EXPECT_TRUE(is_open(value, sizeof(wide)));
}

TEST(ErasedValues, WhatLiesBehindTheLastValueIsPoisoned) {
  slot_map<wide> map({.compaction = compaction_mode::immediate});
  map.reserve(10);
  const auto first = map.insert({1});
  const auto last = map.insert({2});
  wide* const value = map.find(first);
  EXPECT_TRUE(is_poisoned(value + 2));
  map.erase(first);  // the last value moves there
  EXPECT_EQ(map.find(last), value);
  EXPECT_TRUE(is_open(value, sizeof(wide)));
  EXPECT_TRUE(is_poisoned(value + 1));
  map.clear();
  EXPECT_TRUE(is_poisoned(value));
}

TEST(ErasedValues, AMapThatHasGrownLeavesNothingPoisonedBehind) {
  const void* outgrown = nullptr;
  {
    slot_map<wide> map;
    map.reserve(16);
    outgrown = map.find(map.insert({1}));
    for (long i = 0; i < 1000; ++i) {
      (void)map.insert({i});
    }
    long sum = 0;
    map.for_each([&](const wide& value) { sum += value[0]; });
    EXPECT_EQ(sum, 1 + 999L * 1000 / 2);
  }
  // Freed memory is poisoned, too, but is accessible once it is allocated again.
  std::vector<std::unique_ptr<std::array<wide, 16>>> blocks;
  for (int i = 0; i < 1000 && outgrown != nullptr; ++i) {
    blocks.push_back(std::make_unique<std::array<wide, 16>>());
    EXPECT_TRUE(is_open(blocks.back().get(), sizeof(std::array<wide, 16>)));
  }
}

TEST(ErasedValues, OfAConcurrentMapToo) {
  concurrent_slot_map<wide> map(1000);
  std::vector<concurrent_slot_map<wide>::handle_type> handles;
  for (long i = 0; i < 1000; ++i) {
    handles.push_back(map.insert({i}));
  }
  const wide* value = nullptr;
  (void)map.visit(handles[50], [&](const wide& found) { value = &found; });
  ASSERT_NE(value, nullptr);
  EXPECT_TRUE(is_open(value, sizeof(wide)));
  map.erase(handles[50]);
  EXPECT_TRUE(is_poisoned(value));
  (void)map.insert({7});
  EXPECT_TRUE(is_open(value, sizeof(wide))) << "the only free slot";
  map.clear();
  EXPECT_TRUE(is_poisoned(value));
  for (long i = 0; i < 1000; ++i) {
    (void)map.insert({i});
  }
  EXPECT_TRUE(is_open(value, sizeof(wide)));
}

// The same addresses may belong to another mapping next.
TEST(ErasedValues, AConcurrentMapLeavesNothingPoisonedBehind) {
  const void* pointer = nullptr;
  {
    concurrent_slot_map<wide> map(1000);
    const auto handle = map.insert({1});
    (void)map.visit(handle, [&](const wide& found) { pointer = &found; });
    map.erase(handle);
    EXPECT_TRUE(is_poisoned(pointer));
  }
  EXPECT_FALSE(is_poisoned(pointer));
}

}  // namespace
}  // namespace lido
#endif
