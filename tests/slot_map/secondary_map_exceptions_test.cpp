// Exceptions in secondary maps: each allocation, construction, copy and move of a value fails once.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <new>
#include <type_traits>
#include <utility>

#include "lido/slot_map.hpp"
#include "support/failing_new.hpp"
#include "support/tracked.hpp"

namespace lido {
namespace {

using test::refused;
using int_handle = slot_handle<int>;

/// Counts down to the construction or assignment that throws, and counts live values.
struct countdown {
  static inline int refuse_at = 0;
  static inline int live = 0;

  static void step() {
    if (refuse_at > 0 && --refuse_at == 0) {
      throw refused();
    }
  }
};

enum class copying : std::uint8_t { none, throws };
enum class moving : std::uint8_t { safe, assigns_safely, throws };

/// A value whose copies and moves throw when told to. A moved-from value has the number -1.
template <copying Copying, moving Moving>
class fragile {
 public:
  explicit fragile(int number) : number_(number) { begin<true>(); }
  fragile(const fragile& other) requires(Copying == copying::throws) : number_(other.number_) {
    begin<true>();
  }
  // NOLINTBEGIN(performance-noexcept-move-constructor): that they throw is the point
  fragile(fragile&& other) noexcept(Moving == moving::safe) : number_(other.number_) {
    begin<Moving != moving::safe>();
    other.number_ = -1;
  }
  fragile& operator=(const fragile& other) requires(Copying == copying::throws) = default;
  fragile& operator=(fragile&& other) noexcept(Moving == moving::assigns_safely) {
    if constexpr (Moving == moving::throws) {
      countdown::step();
    }
    number_ = std::exchange(other.number_, -1);
    return *this;
  }
  // NOLINTEND(performance-noexcept-move-constructor)
  ~fragile() { --countdown::live; }

  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  template <bool Throws>
  static void begin() noexcept(!Throws) {
    if constexpr (Throws) {
      countdown::step();
    }
    ++countdown::live;
  }
  int number_ = 0;
};

template <class Value>
std::map<int_handle, int> entries_of(const secondary_map<int, Value>& map) {
  std::map<int_handle, int> all;
  for (std::size_t i = 0; i != map.size(); ++i) {
    const int_handle own = map.handles()[i];
    EXPECT_EQ(map.find(own), &map.values()[i]) << "an entry is not found by its handle";
    all[own] = map.values()[i].number();
  }
  EXPECT_EQ(all.size(), map.size());
  return all;
}

template <class Map>
struct operation {
  const char* name;
  bool replaces;  ///< whether a value is moved onto another one
  bool grows;
  void (*run)(Map&);
};

template <class Value>
class SecondaryMapExceptions : public ::testing::Test {
 protected:
  using map_type = secondary_map<int, Value>;

  // 16 entries, the first capacity of the array.
  static map_type full_map() {
    map_type map;
    for (std::uint32_t slot = 0; slot != 16; ++slot) {
      (void)map.emplace({slot * 300, 2}, static_cast<int>(slot));
    }
    EXPECT_EQ(map.capacity(), 16U);
    return map;
  }

  static constexpr bool is_safe =
      std::is_nothrow_move_constructible_v<Value> || std::is_nothrow_move_assignable_v<Value>;
  static constexpr bool relocates_whole =
      std::is_nothrow_move_constructible_v<Value> || std::is_copy_constructible_v<Value>;

  void expect_unchanged(const operation<map_type>& what, const std::map<int_handle, int>& before,
                        map_type& map) {
    const auto now = entries_of(map);
    if ((!what.replaces || is_safe) && (!what.grows || relocates_whole)) {
      EXPECT_EQ(now, before);
      return;
    }
    ASSERT_EQ(now.size(), before.size());
    for (const auto& [handle, number] : before) {
      EXPECT_TRUE(now.contains(handle)) << "an entry is lost";
    }
  }

  /// Runs `what` with each step failing in turn. Returns the number of failures.
  int sweep(const operation<map_type>& what, const std::function<void(int)>& fail_at) {
    SCOPED_TRACE(what.name);
    for (int failing = 1;; ++failing) {
      map_type map = full_map();
      const auto before = entries_of(map);
      bool failed = false;
      fail_at(failing);
      try {
        what.run(map);
      } catch (const refused&) {
        failed = true;
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      fail_at(0);
      if (!failed) {
        return failing - 1;
      }
      expect_unchanged(what, before, map);
      (void)map.emplace({7777, 1}, 77);
      EXPECT_EQ(map.find({7777, 1})->number(), 77) << "the map cannot be used any more";
    }
  }

  void TearDown() override { EXPECT_EQ(countdown::live, 0); }

  static constexpr std::array<operation<map_type>, 5> operations = {{
      {"new entry", false, true,
       [](map_type& map) {
         (void)map.emplace({9000, 1}, 9);
       }},
      {"replaced entry", true, false,
       [](map_type& map) {
         (void)map.emplace({300, 3}, 9);
       }},
      {"erased entry", true, false,
       [](map_type& map) {
         (void)map.erase({300, 2});
       }},
      {"reserve", false, true, [](map_type& map) { map.reserve(100); }},
      {"walk", true, false,
       [](map_type& map) {
         map.for_each([](Value& value) { return value.number() == 3 ? step::erase : step::next; });
       }},
  }};
};

using fragile_values =
    ::testing::Types<fragile<copying::throws, moving::safe>, fragile<copying::none, moving::safe>,
                     fragile<copying::throws, moving::assigns_safely>,
                     fragile<copying::none, moving::assigns_safely>,
                     fragile<copying::throws, moving::throws>,
                     fragile<copying::none, moving::throws>>;
TYPED_TEST_SUITE(SecondaryMapExceptions, fragile_values);

TYPED_TEST(SecondaryMapExceptions, AValueThatThrowsLosesNoEntry) {
  int failures = 0;
  for (const auto& each : this->operations) {
    failures += this->sweep(each, [](int step) { countdown::refuse_at = step; });
  }
  EXPECT_GE(failures, 2) << "the constructors of the new values have not thrown";
}

TYPED_TEST(SecondaryMapExceptions, AnAllocationThatFailsHasNoEffect) {
  int failures = 0;
  for (const auto& each : this->operations) {
    failures += this->sweep(each, [](int step) { test::allocations().fail_at = step; });
  }
  EXPECT_GE(failures, 6) << "page, page list, values and handles";
}

TYPED_TEST(SecondaryMapExceptions, ACopyThatThrowsLeaksNothing) {
  if constexpr (std::is_copy_constructible_v<TypeParam>) {
    auto map = this->full_map();
    const auto before = entries_of(map);
    int failures = 0;
    for (bool failed = true; failed; failures += failed ? 1 : 0) {
      auto target = this->full_map();
      failed = false;
      countdown::refuse_at = failures + 1;
      try {
        target = map;
      } catch (const refused&) {
        failed = true;
      }
      countdown::refuse_at = 0;
      EXPECT_EQ(entries_of(target), before);
    }
    EXPECT_EQ(failures, 16);
  }
}

// The handle comes from an untrusted source.
TEST(SecondaryMapAllocation, AHandleOfAHugeSlotIsRefusedIfThereIsNoMemory) {
  secondary_map<int, int> map;
  (void)map.insert({1, 1}, 1);
  {
    const test::failing_allocations failing(1, /*sticky=*/true);
    EXPECT_THROW((void)map.insert({0xFFFF'FFFE, 1}, 2), std::bad_alloc);
  }
  EXPECT_EQ(map.size(), 1U);
  EXPECT_THROW(map.reserve(SIZE_MAX), std::bad_alloc);
  EXPECT_EQ(*map.find({1, 1}), 1);
}

TEST(SecondaryMapAllocation, AReservedMapAllocatesNothingForSlotsThatHadEntries) {
  secondary_map<int, int> map;
  map.reserve(100);
  (void)map.insert({99, 1}, 1);
  const long before = test::allocations().allocations;
  for (std::uint32_t generation = 2; generation != 5; ++generation) {
    for (std::uint32_t slot = 0; slot != 100; ++slot) {
      (void)map.insert({slot, generation}, 1);
    }
    map.for_each([](int) { return step::erase; });
    map.clear();
  }
  EXPECT_EQ(test::allocations().allocations, before);
}

TEST(SecondaryMapAllocation, AFewOfAMillionSlotsTakeLittle) {
  const long before = test::allocation_plan::outstanding;
  secondary_map<int, int> map;
  for (std::uint32_t slot = 0; slot < 1'000'000; slot += 10'000) {
    (void)map.insert({slot, 1}, 1);
  }
  // One for each page, the list of pages, the values, and the handles.
  EXPECT_EQ(test::allocation_plan::outstanding - before, 100 + 3);
}

}  // namespace
}  // namespace lido
