// A slot map stores nothing in the memory of erased values, and does not read it.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "lido/slot_map.hpp"
#include "support/forbidden_pages.hpp"

namespace lido {
namespace {

using test::page;
using page_handle = slot_handle<page>;

// Erasing such a value does not read it either. The latest hole is the first to be filled.
TEST(HoleMemory, NothingReadsOrWritesAnErasedValue) {
  slot_map<page> map({.reserve = 40, .compaction = compaction_mode::manual});
  std::vector<page_handle> handles;
  std::vector<page_handle> erased;
  std::vector<page*> forbidden;
  for (std::size_t i = 0; i < 40; ++i) {
    handles.push_back(map.emplace(default_init));
    if (i % 2 == 0) {
      erased.push_back(handles.back());
      forbidden.push_back(map.find(handles.back()));
    }
  }
  const test::forbidden_pages nobody(forbidden);
  for (const page_handle gone : erased) {
    EXPECT_TRUE(map.erase(gone));
    EXPECT_FALSE(map.erase(gone));
  }
  EXPECT_EQ(map.holes(), 20U);
  for (int round = 0; round < 10; ++round) {
    EXPECT_TRUE(map.erase(handles[1]));
    handles[1] = map.emplace(default_init);
  }
  std::size_t met = 0;
  map.for_each([&](page& /*value*/) { ++met; });
  EXPECT_EQ(met, 20U);
}

}  // namespace
}  // namespace lido
