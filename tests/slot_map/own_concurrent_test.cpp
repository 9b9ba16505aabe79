// A concurrent map in memory of the program: how much it takes, and that it allocates nothing else.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "lido/concurrent_slot_map.hpp"
#include "lido/memory_source.hpp"
#include "lido/registry.hpp"
#include "support/crew.hpp"
#include "support/failing_new.hpp"
#include "support/own_buffer.hpp"

namespace lido {
namespace {

using test::allocations;
using test::own_buffer;

struct alignas(32) entity {
  std::array<float, 8> at{};
};
using entity_map = concurrent_slot_map<entity>;

std::string refusal_of(const concurrent_slot_map_options& options) {
  try {
    const entity_map map(options);
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return "none";
}

TEST(OwnMemoryOfAConcurrentMap, IsExactlyWhatBytesNeededSays) {
  registry names;
  for (const std::size_t size : {1U, 33U, 128U, 1025U}) {
    concurrent_slot_map_options options{.max_size = size,
                                        .name = "a name too long for the small string optimisation",
                                        .registry = &names};
    const std::size_t bytes = entity_map::bytes_needed(options);
    own_buffer memory(bytes);
    memory_region enough(memory.span());
    options.memory = &enough;
    {
      entity_map map(options);
      EXPECT_EQ(enough.left(), 0U);
      EXPECT_EQ(map.name(), options.name);
      while (const auto handle = map.try_emplace()) {
        map.visit(handle,
                  [&](entity& value) { EXPECT_TRUE(memory.contains(&value, sizeof(value))); });
      }
      EXPECT_EQ(map.size(), size);
    }
    EXPECT_EQ(enough.left(), bytes);
    memory_region too_small(memory.span().first(bytes - 1));
    options.memory = &too_small;
    const std::string text = refusal_of(options);
    EXPECT_NE(text.find("memory has " + std::to_string(bytes - 1) + " bytes"), text.npos) << text;
    EXPECT_NE(text.find(", but " + std::to_string(bytes) + " are needed"), text.npos) << text;
    EXPECT_EQ(too_small.left(), bytes - 1);
  }
}

TEST(OwnMemoryOfAConcurrentMap, IsAllThatTheMapAllocates) {
  constexpr unsigned crew_size = 4;
  own_buffer memory(1'000'000);
  memory_region region(memory.span());
  const concurrent_slot_map_options options{
      .max_size = 2000,
      .name = "a name too long for the small string optimisation",
      .memory = &region};
  const long before = allocations().allocations;
  std::optional<entity_map> map(std::in_place, options);
  EXPECT_EQ(allocations().allocations, before);
  std::array<long, crew_size> counts{};
  test::run_crew(crew_size, [&](unsigned thread) {
    std::array<entity_map::handle_type, 400> held;
    const long own = allocations().allocations;
    for (int burst = 0; burst < 50; ++burst) {
      for (auto& handle : held) {
        handle = map->try_emplace();
      }
      map->for_each([](entity& value) { value.at[0] += 1; });
      for (const auto& handle : held) {
        map->erase(handle);
      }
    }
    counts.at(thread) = allocations().allocations - own;
  });
  EXPECT_EQ(counts, (std::array<long, crew_size>{}));
  map.reset();
  EXPECT_EQ(region.left(), 1'000'000U);
}

}  // namespace
}  // namespace lido
