// Pools in memory of the program: how much they take, where everything lies, and that they allocate
// nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lido/base/address.hpp"
#include "lido/base/memory_cursor.hpp"
#include "lido/checked.hpp"
#include "lido/freelist/boost_list.hpp"
#include "lido/memory_source.hpp"
#include "lido/object_pool.hpp"
#include "lido/pmr_source.hpp"
#include "lido/registry.hpp"
#include "support/counting_upstream.hpp"
#include "support/crew.hpp"
#include "support/drain.hpp"
#include "support/failing_new.hpp"
#include "support/own_buffer.hpp"

namespace lido {
namespace {

using test::allocations;
using test::failing_allocations;
using buffer = test::own_buffer;

struct particle {
  std::array<float, 7> at{};
};
struct alignas(8192) dma_block {
  std::array<std::byte, 8192> bytes;
};
struct tracked : pool_traits<particle> {
  static constexpr bool track_in_use = true;
};
struct kept : pool_traits<particle> {
  using hooks = keep;
};
template <class Pool>
std::string refusal_of(const object_pool_options& options) {
  try {
    const Pool pool(options);
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return "none";
}

/// Pools of different traits, which have different tables.
template <class Pool>
class OwnMemory : public ::testing::Test {};
using pool_types =
    ::testing::Types<object_pool<particle>, object_pool<particle, tracked>,
                     object_pool<particle, kept>, object_pool<particle, checked_traits<particle>>,
                     object_pool<dma_block>>;
TYPED_TEST_SUITE(OwnMemory, pool_types);

TYPED_TEST(OwnMemory, NeedsExactlyWhatBytesNeededSays) {
  registry names;
  for (const std::size_t capacity : {1U, 2U, 33U, 100U, 1024U, 1500U}) {
    for (registry* const where : {static_cast<registry*>(nullptr), &names}) {
      memory_region none({});
      object_pool_options options{.capacity = capacity,
                                  .name = "a name too long for the small string optimisation",
                                  .registry = where,
                                  .memory = &none};
      const std::size_t bytes = TypeParam::bytes_needed(options);
      buffer memory(bytes);
      memory_region enough(memory.span());
      options.memory = &enough;
      {
        TypeParam pool(options);
        EXPECT_EQ(enough.left(), 0U);
        auto all = test::drain(pool);
        EXPECT_EQ(test::count_distinct(all), capacity);
        for (const auto* const object : all) {
          EXPECT_TRUE(memory.contains(object, sizeof(*object)));
          EXPECT_EQ(detail::address_bits(object) % alignof(typename TypeParam::value_type), 0U);
        }
        test::release_all(pool, all);
      }
      EXPECT_EQ(enough.left(), bytes) << "the destructor gives the memory back";
      memory_region too_small(memory.span().first(bytes - 1));
      options.memory = &too_small;
      const std::string text = refusal_of<TypeParam>(options);
      EXPECT_NE(text.find("memory has " + std::to_string(bytes - 1) + " bytes"), text.npos) << text;
      EXPECT_NE(text.find(", but " + std::to_string(bytes) + " are needed"), text.npos) << text;
      EXPECT_EQ(too_small.left(), bytes - 1) << "a refused pool takes nothing";
    }
  }
}

TYPED_TEST(OwnMemory, AllocatesNothingElse) {
  constexpr unsigned threads = 4;
  memory_region none({});
  object_pool_options options{.capacity = 1500,
                              .name = "a name too long for the small string optimisation",
                              .memory = &none};
  buffer memory(TypeParam::bytes_needed(options));
  memory_region region(memory.span());
  options.memory = &region;
  prepare_thread();
  const long before = allocations().allocations;
  std::optional<TypeParam> pool(std::in_place, options);
  EXPECT_EQ(allocations().allocations, before);
  std::array<long, threads> counts{};
  test::run_crew(threads, [&](unsigned thread) {
    using object = typename TypeParam::value_type;
    std::vector<object*> held(1500);
    prepare_thread();
    const long own = allocations().allocations;
    for (std::size_t burst = 1; burst <= held.size(); burst += 53) {
      std::size_t got = 0;
      while (got < burst && (held[got] = pool->try_acquire_ptr()) != nullptr) {
        ++got;
      }
      while (got > 0) {
        pool->release(held[--got]);
      }
    }
    counts.at(thread) = allocations().allocations - own;
  });
  EXPECT_EQ(counts, (std::array<long, threads>{}));
  const long last = allocations().allocations;
  (void)pool->stats();
  pool.reset();
  EXPECT_EQ(allocations().allocations, last);
}

/// Pools that visit the objects in use when they restart.
template <class Pool>
class OwnMemoryOfARestart : public ::testing::Test {};
using restarted_types = ::testing::Types<object_pool<std::string>, object_pool<particle, tracked>,
                                         object_pool<int, checked_traits<int>>,
                                         object_pool<std::string, checked_traits<std::string>>>;
TYPED_TEST_SUITE(OwnMemoryOfARestart, restarted_types);

TYPED_TEST(OwnMemoryOfARestart, AllocatesNothing) {
  for (const std::size_t capacity : {1U, 64U, 65U, 1500U}) {
    memory_region none({});
    object_pool_options options{.capacity = capacity, .warm = true, .memory = &none};
    buffer memory(TypeParam::bytes_needed(options));
    memory_region region(memory.span());
    options.memory = &region;
    TypeParam pool(options);
    EXPECT_EQ(region.left(), 0U);
    for (int round = 0; round < 3; ++round) {
      const auto all = test::drain(pool);
      EXPECT_EQ(test::count_distinct(all), capacity);
      pool.release(all[capacity / 2]);
      const long before = allocations().allocations;
      const failing_allocations plan(1, /*sticky=*/true);
      EXPECT_NO_THROW(pool.release_all());
      failing_allocations::stop();
      EXPECT_EQ(allocations().allocations, before);
      EXPECT_EQ(pool.stats().in_use, 0U);
    }
  }
}

TEST(OwnMemoryOfAPool, IsAlignedOrTheErrorSaysSo) {
  memory_region none({});
  object_pool_options options{.capacity = 10, .name = "odd", .memory = &none};
  using pool_type = object_pool<particle>;
  const std::size_t bytes = pool_type::bytes_needed(options);
  buffer memory(bytes + 128);
  memory_region odd(memory.span().subspan(1, bytes));
  options.memory = &odd;
  EXPECT_EQ(refusal_of<pool_type>(options),
            "lido: pool 'odd': memory has " + std::to_string(bytes - 127) +
                " bytes aligned to 128, but " + std::to_string(bytes) + " are needed");
  memory_region longer(memory.span().subspan(1));
  options.memory = &longer;
  pool_type pool(options);
  EXPECT_EQ(test::count_acquirable(pool), 10U);
}

TEST(OwnMemoryOfAPool, IsRefusedIfItIsEmpty) {
  memory_region none({});
  EXPECT_NE(refusal_of<object_pool<int>>({.capacity = 1, .memory = &none}).find("memory has 0 "),
            std::string::npos);
}

TEST(OwnMemoryOfAPool, IsSharedByPoolsInTurn) {
  buffer memory(100'000);
  memory_region region(memory.span());
  const object_pool_options options{.capacity = 100, .memory = &region};
  std::optional<object_pool<int>> first(std::in_place, options);
  std::optional<object_pool<int>> second(std::in_place, options);
  auto all = test::drain(*first);
  const auto others = test::drain(*second);
  all.insert(all.end(), others.begin(), others.end());
  EXPECT_EQ(test::count_distinct(all), 200U);
  const std::size_t after_both = region.left();
  test::release_all(*first, std::vector<int*>(all.begin(), all.begin() + 100));
  test::release_all(*second, others);
  first.reset();
  EXPECT_EQ(region.left(), after_both) << "another part was handed out later";
  first.emplace(options);
  first.reset();
  EXPECT_LT(after_both - region.left(), 128U) << "only the gap before it is lost";
  second.reset();
  EXPECT_EQ(region.left(), 100'000U) << "no part is out";
}

TEST(OwnMemoryOfAPool, CannotGrow) {
  buffer memory(100'000);
  memory_region region(memory.span());
  EXPECT_NE(refusal_of<object_pool<int>>(
                {.max_capacity = 10, .when_full = when_full::grow, .memory = &region})
                .find("when_full::grow does not go with memory"),
            std::string::npos);
  object_pool<int> pool({.capacity = 10, .memory = &region});
  EXPECT_EQ(pool.shrink_to(0), 10U);
  pool.reserve(10);
  EXPECT_THROW(pool.reserve(11), std::invalid_argument);
  EXPECT_THROW(
      [] {
        memory_region none({});
        object_pool<int> other({.capacity = 10, .list = boost_list(), .memory = &none});
      }(),
      std::invalid_argument);
}

struct refusing_hooks {
  static inline int left = 0;
  particle create() {
    if (left-- == 0) {
      throw std::runtime_error("no more");
    }
    return {};
  }
};
struct refusing_traits : pool_traits<particle> {
  using hooks = refusing_hooks;
};

TEST(OwnMemoryOfAPool, IsGivenBackWhateverThrowsInTheConstructor) {
  buffer memory(100'000);
  memory_region region(memory.span());
  using pool_type = object_pool<particle, refusing_traits>;
  for (int created = 0; created < 12; ++created) {
    refusing_hooks::left = created;
    EXPECT_THROW(pool_type({.capacity = 12, .creation = creation::eager, .memory = &region}),
                 std::runtime_error);
    EXPECT_EQ(region.left(), 100'000U);
  }
}

TEST(OwnMemoryOfAPool, ServesOptionsThatTouchAndCreate) {
  buffer memory(100'000);
  memory_region region(memory.span());
  object_pool<particle, kept> pool(
      {.capacity = 100, .creation = creation::eager, .warm = true, .memory = &region});
  EXPECT_EQ(pool.stats().live, 100U);
  EXPECT_EQ(test::count_acquirable(pool), 100U);
}

TEST(OwnMemoryOfAPool, IsUsedAgain) {
  buffer memory(100'000);
  memory_region region(memory.span());
  for (int round = 0; round < 10; ++round) {
    object_pool<std::string, checked_traits<std::string>> pool(
        {.capacity = 200, .name = "again", .memory = &region});
    EXPECT_EQ(test::count_acquirable(pool), 200U);
  }
}

TEST(OwnMemoryOfAPool, ListsThePoolInItsRegistry) {
  registry names;
  buffer memory(100'000);
  memory_region region(memory.span());
  const object_pool<int> pool(
      {.capacity = 3, .name = "listed", .registry = &names, .memory = &region});
  std::string seen;
  names.visit([&](const pool_report& each) { seen += each.name; });
  EXPECT_EQ(seen, "listed");
}

class fickle_source final : public memory_source {
 public:
  enum class mood { empty, throws } mood = mood::empty;
  void* allocate(std::size_t /*bytes*/, std::size_t /*alignment*/) override {
    if (mood == mood::throws) {
      throw std::runtime_error("not today");
    }
    return nullptr;
  }
  void deallocate(void* /*memory*/, std::size_t /*bytes*/,
                  std::size_t /*alignment*/) noexcept override {
    ADD_FAILURE() << "memory is given back that was not handed out";
  }
  [[nodiscard]] std::size_t available(std::size_t /*alignment*/) const noexcept override {
    return SIZE_MAX;
  }
  [[nodiscard]] bool can_grow() const noexcept override { return true; }
};

TEST(OwnMemoryOfAPool, MayRunOutAtTheSource) {
  fickle_source source;
  EXPECT_THROW(object_pool<int>({.capacity = 3, .memory = &source}), std::bad_alloc);
  source.mood = fickle_source::mood::throws;
  EXPECT_THROW(object_pool<int>({.capacity = 3, .memory = &source}), std::runtime_error);
}

TEST(OwnMemoryOfAPool, ComesFromAMemoryResource) {
  test::counting_upstream upstream;
  pmr_source source(&upstream);
  EXPECT_EQ(source.resource(), &upstream);
  {
    object_pool<dma_block> pool({.capacity = 3, .memory = &source});
    EXPECT_EQ(upstream.requests(), 1U);
    EXPECT_EQ(test::count_acquirable(pool), 3U);
  }
  EXPECT_EQ(upstream.out(), 0U);
  pmr_source none(std::pmr::null_memory_resource());
  EXPECT_THROW(object_pool<int>({.capacity = 3, .memory = &none}), std::bad_alloc);
}

TEST(MemoryRegion, HandsOutAlignedPartsUntilNoneFits) {
  buffer memory(256);
  memory_region region(memory.span());
  EXPECT_EQ(region.available(64), 256U);
  std::byte* const first = static_cast<std::byte*>(region.allocate(1, 1));
  EXPECT_EQ(first, memory.span().data());
  EXPECT_EQ(region.available(64), 192U);
  EXPECT_EQ(region.allocate(193, 64), nullptr);
  EXPECT_EQ(region.left(), 255U);
  void* const second = region.allocate(192, 64);
  EXPECT_EQ(second, first + 64);
  EXPECT_EQ(region.left(), 0U);
  EXPECT_EQ(region.allocate(1, 1), nullptr);
  EXPECT_EQ(region.available(4096), 0U);
  region.deallocate(second, 192, 64);
  EXPECT_EQ(region.left(), 192U);
  void* const third = region.allocate(10, 1);
  region.deallocate(first, 1, 1);
  EXPECT_EQ(region.left(), 182U);
  region.deallocate(third, 10, 1);
  EXPECT_EQ(region.left(), 256U) << "no part is out";
}

TEST(MemoryCursor, FindsAnOverflow) {
  detail::memory_cursor cursor;
  (void)cursor.take(3, 1);
  (void)cursor.take(8, 8);
  EXPECT_EQ(cursor.bytes(), 16U);
  EXPECT_EQ(cursor.alignment(), 8U);
  (void)cursor.take(SIZE_MAX - 8, 1);
  EXPECT_EQ(cursor.bytes(), SIZE_MAX);
  (void)cursor.take(1, 1);
  (void)cursor.take(1, 64);
  EXPECT_EQ(cursor.bytes(), SIZE_MAX);
}

}  // namespace
}  // namespace lido
