// A slot map in memory of the program: how much it takes, and that it allocates nothing else.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lido/memory_source.hpp"
#include "lido/pmr_source.hpp"
#include "lido/slot_map.hpp"
#include "lido/try_make.hpp"
#include "support/counting_upstream.hpp"
#include "support/failing_new.hpp"
#include "support/own_buffer.hpp"

namespace lido {
namespace {

using test::allocations;
using test::own_buffer;

struct spark {
  std::array<float, 5> at{};
};
using spark_map = slot_map<spark>;

std::string map_refusal_of(const slot_map_options& options) {
  const option_problem problem = problem_with<spark_map>(options);
  EXPECT_FALSE(try_make<spark_map>(options));
  try {
    const spark_map map(options);
  } catch (const std::invalid_argument& wrong) {
    EXPECT_EQ(wrong.what(), "lido: pool 'unnamed': " + std::string(problem.text()));
    return wrong.what();
  }
  return "none";
}

TEST(OwnMemoryOfASlotMap, IsExactlyWhatBytesNeededSays) {
  for (const std::size_t size : {1U, 33U, 128U, 1025U}) {
    slot_map_options options{.max_size = size, .reserve = size};
    const std::size_t bytes = spark_map::bytes_needed(options);
    own_buffer memory(bytes);
    memory_region enough(memory.span());
    options.memory = &enough;
    {
      spark_map map(options);
      EXPECT_EQ(enough.left(), 0U);
      while (const auto handle = map.try_emplace()) {
        EXPECT_TRUE(memory.contains(&map.at(handle), sizeof(spark)));
      }
      EXPECT_EQ(map.size(), size);
      EXPECT_THROW(map.shrink_to_fit(), std::invalid_argument);
      EXPECT_EQ(map.size(), size);
    }
    EXPECT_EQ(enough.left(), bytes);
    memory_region too_small(memory.span().first(bytes - 1));
    options.memory = &too_small;
    const std::string text = map_refusal_of(options);
    EXPECT_NE(text.find("memory has " + std::to_string(bytes - 1) + " bytes"), text.npos) << text;
    EXPECT_NE(text.find(", but " + std::to_string(bytes) + " are needed"), text.npos) << text;
    EXPECT_EQ(too_small.left(), bytes - 1);
  }
}

TEST(OwnMemoryOfASlotMap, IsAllThatTheMapAllocates) {
  own_buffer memory(100'000);
  memory_region region(memory.span());
  std::vector<spark_map::handle_type> held(1000);
  const long before = allocations().allocations;
  {
    spark_map map({.max_size = 1000, .reserve = 1000, .memory = &region});
    for (int frame = 0; frame < 20; ++frame) {
      for (auto& handle : held) {
        handle = map.emplace();
      }
      map.for_each([](spark& value) { value.at[0] += 1; });
      for (std::size_t i = 0; i < held.size(); i += 2) {
        map.erase(held[i]);
      }
      map.for_each([](spark& /*value*/) { return step::erase; });
    }
  }
  EXPECT_EQ(allocations().allocations, before);
  EXPECT_EQ(region.left(), 100'000U);
}

TEST(OwnMemoryOfASlotMap, CannotGrow) {
  own_buffer memory(100'000);
  memory_region region(memory.span());
  EXPECT_NE(map_refusal_of({.max_size = 10, .reserve = 9, .memory = &region})
                .find("reserve 9 must equal max_size 10, because memory cannot grow"),
            std::string::npos);
  EXPECT_NE(map_refusal_of({.max_size = 0}).find("max_size is 0"), std::string::npos);
  EXPECT_EQ(region.left(), 100'000U);
}

TEST(OwnMemoryOfASlotMap, GrowsAndShrinksInAMemoryResource) {
  test::counting_upstream upstream;
  pmr_source source(&upstream);
  {
    spark_map map({.memory = &source});
    EXPECT_EQ(upstream.requests(), 0U);
    std::vector<spark_map::handle_type> held;
    for (int i = 0; i < 1000; ++i) {
      held.push_back(map.emplace());
    }
    EXPECT_EQ(upstream.out(), 2U) << "the values and the table";
    spark_map other(map);
    other = std::move(map);
    EXPECT_EQ(other.size(), 1000U);
    other.clear();
    other.shrink_to_fit();
    EXPECT_TRUE(other.emplace());
  }
  EXPECT_EQ(upstream.out(), 0U);
}

TEST(OwnMemoryOfASlotMap, IsGivenBackIfItRunsOut) {
  own_buffer memory(100'000);
  memory_region region(memory.span());
  {
    const spark_map map({.max_size = 2000, .reserve = 2000, .memory = &region});
    const std::size_t left = region.left();
    EXPECT_THROW(spark_map{map}, std::bad_alloc);
    EXPECT_EQ(region.left(), left);
  }
  EXPECT_EQ(region.left(), 100'000U);
}

}  // namespace
}  // namespace lido
