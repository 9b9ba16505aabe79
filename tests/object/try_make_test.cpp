// Making pools that may fail: the reasons, and what happens if memory runs out.
#include "lido/try_make.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "lido/base/address.hpp"
#include "lido/block_resource.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/freelist/boost_list.hpp"
#include "lido/memory_source.hpp"
#include "lido/object_pool.hpp"
#include "lido/pmr_source.hpp"
#include "lido/slot_map.hpp"
#include "support/counting_upstream.hpp"
#include "support/drain.hpp"
#include "support/failing_new.hpp"
#include "support/sanitizers.hpp"

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
  } catch (const std::bad_array_new_length& wrong) {
    EXPECT_EQ(problem.what(), option_problem::kind::size);
    thrown = wrong.what();
    thrown.erase(0, thrown.find("': ") + 3);
  }
  EXPECT_EQ(thrown, problem.text());
  return std::string(problem.text());
}

TEST(ProblemWith, OptionsOfAnObjectPoolSaysWhatTheConstructorSays) {
  EXPECT_EQ(text_of<pool_type>({.capacity = 3}), "");
  EXPECT_EQ(text_of<pool_type>({}), "capacity 0 is not between 1 and 4294967294");
  EXPECT_EQ(text_of<pool_type>({.capacity = 3, .max_capacity = 4}),
            "max_capacity 4 needs when_full::grow");
  EXPECT_EQ(text_of<pool_type>({.capacity = 3, .max_cached = 2000}),
            "max_cached 2000 is more than 1022");
  EXPECT_EQ(text_of<pool_type>({.capacity = 9, .max_capacity = 8, .when_full = when_full::grow}),
            "capacity 9 is more than max_capacity 8");
  EXPECT_EQ(
      text_of<pool_type>({.max_capacity = 8, .when_full = when_full::grow, .list = boost_list()}),
      "when_full::grow does not go with list, which cannot grow");
  EXPECT_EQ(text_of<pool_type>({.capacity = 9, .creation = creation::eager}),
            "creation::eager needs Traits::hooks");
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

/// Returns the message of the std::bad_alloc of a pool for which there is no memory.
template <class Pool>
std::string bad_alloc_of(const typename Pool::options_type& options) {
  try {
    const Pool pool(options);
  } catch (const std::bad_alloc& error) {
    return error.what();
  }
  return "";
}

TEST(TooLargePool, NamesItselfIfItsSizeOverflows) {
  EXPECT_EQ(bad_alloc_of<huge_pool>({.capacity = 9, .name = "jobs"}),
            "lido: pool 'jobs': the size of all slots overflows");
  EXPECT_EQ(bad_alloc_of<huge_pool>({.capacity = 9, .name = std::string(500, 'x')}),
            "lido: pool '" + std::string(100, 'x') + "': the size of all slots overflows");
  using huge_map = concurrent_slot_map<std::array<char, PTRDIFF_MAX / 4>>;
  EXPECT_EQ(bad_alloc_of<huge_map>({.max_size = 9, .name = "jobs"}),
            "lido: pool 'jobs': the size of all values overflows");
  EXPECT_EQ(
      bad_alloc_of<block_resource>({.block_bytes = PTRDIFF_MAX / 4, .blocks = 9, .name = "jobs"}),
      "lido: pool 'jobs': the size of all blocks overflows");
}

#if !LIDO_TEST_TSAN && !LIDO_TEST_ASAN  // their allocators end the program instead
using large = std::array<char, std::size_t{1} << 24U>;
constexpr std::size_t many = std::size_t{1} << 24U;

/// Returns true if `text` is the message of the pool 'jobs' for a size of `many` large objects,
/// rounded up by less than one in a thousand.
bool names_all_bytes(const std::string& text) {
  const std::string before = "lido: pool 'jobs': no memory for 2814";
  return text.starts_with(before) &&
         text.size() == before.size() + std::string("74976710656 bytes").size();
}

TEST(TooLargePool, NamesItselfAndItsSize) {
  if (sizeof(std::size_t) < 8) {
    GTEST_SKIP() << "the size overflows";
  }
  const std::string expected = "lido: pool 'jobs': no memory for 281474976710656 bytes";
  EXPECT_EQ(bad_alloc_of<object_pool<large>>({.capacity = many, .name = "jobs"}), expected);
  EXPECT_EQ(bad_alloc_of<object_pool<large>>(
                {.name = "jobs", .max_capacity = many, .when_full = when_full::grow}),
            expected);
  EXPECT_EQ(bad_alloc_of<concurrent_slot_map<large>>({.max_size = many, .name = "jobs"}), expected);
  EXPECT_EQ(
      bad_alloc_of<block_resource>({.block_bytes = sizeof(large), .blocks = many, .name = "jobs"}),
      expected);
  const std::string of_map =
      bad_alloc_of<slot_map<large>>({.max_size = many, .reserve = many, .name = "jobs"});
  EXPECT_TRUE(names_all_bytes(of_map)) << of_map;
  slot_map<large> map({.name = "jobs"});
  try {
    map.reserve(many);
    ADD_FAILURE() << "there is no such memory";
  } catch (const std::bad_alloc& error) {
    EXPECT_TRUE(names_all_bytes(error.what())) << error.what();
  }
  EXPECT_EQ(bad_alloc_of<object_pool<large>>({.capacity = many}),
            "lido: pool 'unnamed': no memory for 281474976710656 bytes");
}

TEST(TooLargePool, IsAProblemWithItsSize) {
  if (sizeof(std::size_t) < 8) {
    GTEST_SKIP() << "the size overflows";
  }
  const auto text_of_problem = [](const auto& made) {
    EXPECT_FALSE(made);
    EXPECT_EQ(made.problem.what(), option_problem::kind::memory);
    return std::string(made.problem.text());
  };
  const std::string begin = "there is no memory for the pool, which needs 28147";
  EXPECT_EQ(
      text_of_problem(try_make<object_pool<large>>({.capacity = many})).substr(0, begin.size()),
      begin);
  EXPECT_EQ(text_of_problem(
                try_make<object_pool<large>>({.max_capacity = many, .when_full = when_full::grow}))
                .substr(0, begin.size()),
            begin);
}
#endif

TEST(OptionProblem, CutsALongTextOff) {
  const std::string part(200, 'x');
  const option_problem problem(option_problem::kind::option, {part, part});
  EXPECT_EQ(problem.text(), std::string(223, 'x'));
  EXPECT_FALSE(option_problem());
  EXPECT_EQ(option_problem().text(), "");
}

/// Returns how many bytes of memory or addresses a pool takes.
template <class Pool>
std::size_t bytes_of(const typename Pool::options_type& options) {
  return Pool::bytes_needed(options);
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
    EXPECT_EQ(made.problem.text(), "there is no memory for the pool, which needs " +
                                       std::to_string(bytes_of<Pool>(options)) + " bytes");
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

struct exhausted_hooks {
  int create() { throw std::bad_alloc(); }
};
struct exhausted_traits : pool_traits<int> {
  using hooks = exhausted_hooks;
};

TEST(TryMake, CountsABadAllocOfHooksAsMissingMemory) {
  const auto made =
      try_make<object_pool<int, exhausted_traits>>({.capacity = 3, .creation = creation::eager});
  EXPECT_FALSE(made);
  EXPECT_EQ(made.problem.what(), option_problem::kind::memory);
}

class throwing_resource final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t /*bytes*/, std::size_t /*alignment*/) override {
    throw std::runtime_error("not today");
  }
  void do_deallocate(void* /*memory*/, std::size_t /*bytes*/, std::size_t /*alignment*/) override {}
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

TEST(TryMake, PassesOtherExceptionsOfTheSource) {
  throwing_resource resource;
  pmr_source source(&resource);
  EXPECT_THROW((void)try_make<pool_type>({.capacity = 3, .memory = &source}), std::runtime_error);
  pmr_source none(std::pmr::null_memory_resource());
  const auto made = try_make<pool_type>({.capacity = 3, .memory = &none});
  EXPECT_FALSE(made);
  EXPECT_EQ(made.problem.what(), option_problem::kind::memory);
}

TEST(HasMemory, AsksTheSystem) {
  EXPECT_TRUE(detail::has_memory(1000));
#if !LIDO_TEST_ASAN  // AddressSanitizer ends a program that asks for so much
  EXPECT_FALSE(detail::has_memory(PTRDIFF_MAX));
#endif
  EXPECT_TRUE(detail::has_addresses(0));
  EXPECT_TRUE(detail::has_addresses(1000));
  EXPECT_FALSE(detail::has_addresses(PTRDIFF_MAX));
}

/// Lets find_memory look for the memory of a pool, makes the pool if there is some, and checks that
/// all memory has been given back. Returns true if there was memory.
template <class Pool>
bool finds_memory(typename Pool::options_type options) {
  detail::tried_memory tried(options.memory);
  const bool found = detail::pool_maker::find_memory<Pool>(options, tried);
  if (found) {
    const Pool pool(options);
    EXPECT_FALSE(tried.has_memory());
  }
  return found;
}

TEST(TriedMemory, IsTakenByThePoolAndGivenBackToTheSource) {
  test::counting_upstream upstream;
  pmr_source source(&upstream);
  EXPECT_TRUE(finds_memory<pool_type>({.capacity = 30, .memory = &source}));
  EXPECT_TRUE(finds_memory<map_type>({.max_size = 30, .memory = &source}));
  EXPECT_TRUE(finds_memory<block_resource>({.block_bytes = 64, .blocks = 30, .memory = &source}));
  EXPECT_EQ(upstream.requests(), 3U);
  EXPECT_TRUE((finds_memory<slot_map<int>>({.max_size = 30, .reserve = 30, .memory = &source})));
  EXPECT_TRUE((finds_memory<slot_map<int>>({.max_size = 30, .memory = &source})));
  EXPECT_EQ(upstream.out(), 0U);
}

TEST(TriedMemory, HasTheAlignmentOfThePool) {
  struct alignas(8192) page {
    int value;
  };
  test::counting_upstream upstream;
  pmr_source source(&upstream);
  object_pool_options options{.capacity = 3, .memory = &source};
  detail::tried_memory tried(&source);
  ASSERT_TRUE(detail::pool_maker::find_memory<object_pool<page>>(options, tried));
  const std::size_t bytes = object_pool<page>::bytes_needed(options);
  void* const memory = tried.allocate(bytes, 8192);
  EXPECT_EQ(detail::address_bits(memory) % 8192, 0U);
  tried.deallocate(memory, bytes, 8192);
  EXPECT_EQ(upstream.out(), 0U);
}

TEST(TriedMemory, IsGivenBackIfNoPoolTakesIt) {
  test::counting_upstream upstream;
  pmr_source source(&upstream);
  object_pool_options options{.capacity = 3, .memory = &source};
  {
    detail::tried_memory tried(&source);
    ASSERT_TRUE(detail::pool_maker::find_memory<pool_type>(options, tried));
    EXPECT_TRUE(tried.has_memory());
    EXPECT_TRUE(tried.can_grow());
  }
  EXPECT_EQ(upstream.out(), 0U);
}

TEST(TriedMemory, IsMissingIfTheSourceThrows) {
  throwing_resource resource;
  pmr_source source(&resource);
  EXPECT_FALSE(finds_memory<pool_type>({.capacity = 3, .memory = &source}));
  pmr_source none(std::pmr::null_memory_resource());
  EXPECT_FALSE(finds_memory<pool_type>({.capacity = 3, .memory = &none}));
}

TEST(TriedMemory, IsNotAllocatedIfTheSourceKnowsHowMuchItHas) {
  alignas(128) std::array<std::byte, 16'384> bytes;
  memory_region region(bytes);
  object_pool_options options{.capacity = 3, .memory = &region};
  detail::tried_memory tried(&region);
  EXPECT_TRUE(detail::pool_maker::find_memory<pool_type>(options, tried));
  EXPECT_EQ(options.memory, &region);
  EXPECT_EQ(region.left(), bytes.size());
}

}  // namespace
}  // namespace lido
