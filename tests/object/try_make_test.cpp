// Making pools that may fail: the reasons, and what happens if memory runs out.
#include "lido/try_make.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "lido/block_resource.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/freelist/boost_list.hpp"
#include "lido/memory_source.hpp"
#include "lido/object_pool.hpp"
#include "support/drain.hpp"
#include "support/failing_new.hpp"

namespace lido {
namespace {

using test::allocation_plan;
using test::allocations;
using test::failing_allocations;

using pool_type = object_pool<int>;
using map_type = concurrent_slot_map<int>;
using huge_pool = object_pool<std::array<char, PTRDIFF_MAX / 4>>;

/// Checks that `problem_with` and the constructor say the same, and that the former allocates
/// nothing.
template <class Pool>
std::string text_of(const typename Pool::options_type& options) {
  const long before = allocations().allocations;
  const option_problem problem = problem_with<Pool>(options);
  EXPECT_EQ(allocations().allocations, before);
  const made_pool<Pool> made = try_make<Pool>(options);
  EXPECT_EQ(static_cast<bool>(made), !problem);
  EXPECT_EQ(made.problem.text(), problem.text());
  std::string thrown;
  try {
    const Pool pool(options);
  } catch (const std::invalid_argument& wrong) {
    EXPECT_EQ(problem.what(), option_problem::kind::option);
    thrown = wrong.what();
    thrown.erase(0, thrown.find("': ") + 3);
  } catch (const std::bad_array_new_length&) {
    EXPECT_EQ(problem.what(), option_problem::kind::size);
    thrown = problem.text();
  }
  EXPECT_EQ(thrown, problem.text());
  return std::string(problem.text());
}

TEST(ProblemWith, OptionsOfAnObjectPoolSaysWhatTheConstructorSays) {
  EXPECT_EQ(text_of<pool_type>({.capacity = 3}), "");
  EXPECT_EQ(text_of<pool_type>({}), "capacity 0 is not between 1 and 4294967294");
  EXPECT_EQ(text_of<pool_type>({.capacity = 3, .max_capacity = 4}),
            "max_capacity is for when_full::grow");
  EXPECT_EQ(text_of<pool_type>({.capacity = 3, .max_cached = 2000}),
            "max_cached 2000 is more than 1022");
  EXPECT_EQ(text_of<pool_type>({.capacity = 9, .max_capacity = 8, .when_full = when_full::grow}),
            "capacity 9 is more than 8");
  EXPECT_EQ(
      text_of<pool_type>({.max_capacity = 8, .when_full = when_full::grow, .list = boost_list()}),
      "list is one that cannot grow");
  EXPECT_EQ(text_of<pool_type>({.capacity = 9, .creation = creation::eager}),
            "creation is eager, but the pool keeps no objects");
  memory_region none({});
  EXPECT_EQ(text_of<pool_type>({.capacity = 9, .memory = &none}).substr(0, 34),
            "memory has 0 bytes aligned to 128,");
  EXPECT_EQ(text_of<huge_pool>({.capacity = 9}), "the size of all slots overflows");
}

TEST(ProblemWith, OptionsOfOtherPoolsSaysWhatTheConstructorSays) {
  EXPECT_EQ(text_of<map_type>({.max_size = 3}), "");
  EXPECT_EQ(text_of<map_type>({}), "max_size 0 is not between 1 and 4294967294");
  EXPECT_EQ(text_of<block_resource>({.block_bytes = 8, .blocks = 3}), "");
  EXPECT_EQ(text_of<block_resource>({.blocks = 3}), "block_bytes 0 is not at least 1");
  EXPECT_EQ(text_of<block_resource>({.sizes = {{8, 1}, {9, 1}}, .alignment = 16}),
            "two sizes of 16 bytes");
  EXPECT_EQ(text_of<block_resource>({.block_bytes = PTRDIFF_MAX / 4, .blocks = 5}),
            "the size of all blocks overflows");
}

TEST(OptionProblem, CutsALongTextOff) {
  const std::string part(200, 'x');
  const option_problem problem(option_problem::kind::option, {part, part});
  EXPECT_EQ(problem.text(), std::string(223, 'x'));
  EXPECT_FALSE(option_problem());
  EXPECT_EQ(option_problem().text(), "");
}

/// Makes a pool while the n-th allocation fails, for each n until none does.
template <class Pool>
void fail_each_allocation(const typename Pool::options_type& options) {
  (void)try_make<Pool>(options);
  long failed = 0;
  for (;; ++failed) {
    const long before = allocation_plan::outstanding;
    const failing_allocations plan(failed + 1, /*sticky=*/false);
    const made_pool<Pool> made = try_make<Pool>(options);
    if (failing_allocations::pending()) {
      EXPECT_TRUE(made);
      break;
    }
    EXPECT_FALSE(made) << "allocation " << failed + 1 << " failed";
    EXPECT_EQ(made.problem.what(), option_problem::kind::memory);
    EXPECT_EQ(made.problem.text(), "there is no memory for the pool");
    EXPECT_EQ(allocation_plan::outstanding, before);
  }
  EXPECT_GE(failed, 1);
}

TEST(TryMake, SaysThatThereIsNoMemory) {
  const std::string_view name = "a name too long for the small string optimisation";
  fail_each_allocation<pool_type>({.capacity = 100, .name = name});
  fail_each_allocation<pool_type>(
      {.capacity = 1, .name = name, .max_capacity = 100, .when_full = when_full::grow});
  fail_each_allocation<map_type>({.max_size = 100, .name = name});
  fail_each_allocation<block_resource>({.sizes = {{8, 30}, {64, 10}}, .name = name});
}

struct counting_hooks {
  explicit counting_hooks(int first) : next(first) {}
  int create() {
    if (next == 0) {
      throw std::runtime_error("no more");
    }
    return --next;
  }
  int next;
};
struct kept_traits : pool_traits<int> {
  using hooks = counting_hooks;
};

TEST(TryMake, PassesHooksAndTheirExceptions) {
  using counted_pool = object_pool<int, kept_traits>;
  const made_pool<counted_pool> made =
      try_make<counted_pool>({.capacity = 3, .creation = creation::eager}, counting_hooks(3));
  ASSERT_TRUE(made);
  EXPECT_EQ(made.pool->stats().live, 3U);
  EXPECT_THROW(
      (void)try_make<counted_pool>({.capacity = 3, .creation = creation::eager}, counting_hooks(2)),
      std::runtime_error);
}

TEST(HasMemory, AsksTheSystemOrTheSource) {
  EXPECT_TRUE(detail::has_memory(nullptr, 1000));
  EXPECT_FALSE(detail::has_memory(nullptr, PTRDIFF_MAX));
  alignas(128) std::array<std::byte, 256> bytes;
  memory_region region(bytes);
  EXPECT_TRUE(detail::has_memory(&region, 256));
  EXPECT_FALSE(detail::has_memory(&region, 257));
  EXPECT_EQ(region.left(), 256U);
}

}  // namespace
}  // namespace lido
