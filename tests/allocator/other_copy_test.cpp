// The facts on which a copy of the library of another version relies. A test that fails here
// reveals a change that no version may make.
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "allocator/allocator_state.hpp"
#include "concurrency/number_ranges.hpp"
#include "lido/object_pool.hpp"
#include "support/crew.hpp"

namespace lido::detail {
namespace {

template <class T>
T read(const void* memory) {
  T value{};
  std::memcpy(&value, memory, sizeof(value));
  return value;
}

/// Returns the word of each note of the program itself, as in the file.
std::vector<std::byte*> words_of_notes() {
  std::vector<std::byte*> found;
  (void)::dl_iterate_phdr(
      [](dl_phdr_info* program, std::size_t /*size*/, void* words) {
        static constexpr struct {
          std::array<std::uint32_t, 3> sizes_and_type;
          std::array<char, 8> name;
        } note{{5, 4, 1}, {"lido"}};
        for (std::size_t i = 0; i < program->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = program->dlpi_phdr[i];
          if (segment.p_type != PT_NOTE) {
            continue;
          }
          // NOLINTNEXTLINE(*-reinterpret-cast,performance-no-int-to-ptr): an address of the loader
          auto* const start = reinterpret_cast<std::byte*>(program->dlpi_addr + segment.p_vaddr);
          for (std::size_t at = 0; at + sizeof(note) + 4 <= segment.p_memsz; at += 4) {
            if (std::memcmp(start + at, &note, sizeof(note)) == 0) {
              std::byte* const said = start + at + sizeof(note);
              static_cast<std::vector<std::byte*>*>(words)->push_back(said +
                                                                      read<std::int32_t>(said));
            }
          }
        }
        return 1;  // the program comes first
      },
      &found);
  return found;
}

TEST(OtherCopy, FindsTheOriginBehindTheSecondWordOfAnObjectPool) {
  const object_pool<int> pool({.capacity = 1, .name = "jobs"});
  const auto* const state =
      read<const std::byte*>(reinterpret_cast<const std::byte*>(&pool) + sizeof(void*));
  EXPECT_EQ(read<const void*>(state + 3 * sizeof(void*)), &thread_numbers);
  EXPECT_EQ(std::string_view(read<const char*>(state + 4 * sizeof(void*)),
                             read<std::size_t>(state + 5 * sizeof(void*))),
            "jobs");
}

TEST(OtherCopy, FindsZerosWhereItsOwnThreadWouldBe) {
  EXPECT_EQ(cache_table_bytes, 4097 * 1024);
  EXPECT_EQ(thread_stride, 1024);
  alignas(cache_line) std::array<std::byte, thread_stride> zeros{};
  // A pop reads the word before the cache.
  auto* const cache = static_cast<slot_cache*>(static_cast<void*>(zeros.data() + cache_line));
  void* item = nullptr;
  EXPECT_FALSE(cache->pop(item));
  cache->forget_operation();
  EXPECT_FALSE(cache->push(&zeros));
}

TEST(OtherCopy, FindsTheRangesByANote) {
  const std::vector<std::byte*> words = words_of_notes();
  ASSERT_EQ(words.size(), 1U);
  const auto* const ranges = read<const std::byte*>(words.front());
  ASSERT_NE(ranges, nullptr);
  test::run_in_new_thread([] { (void)assign_thread_number(/*waits=*/true); });
  EXPECT_EQ(read<std::uint64_t>(ranges) & 1U, 1U);  // this copy has the first numbers
}

TEST(NumberRanges, EachGoesToOneOfManyThreads) {
  number_ranges ranges{};
  std::mutex mutex;
  std::vector<std::uint32_t> taken;
  test::run_crew(4, [&](unsigned /*index*/) {
    while (const std::optional<std::uint32_t> range = ranges.take()) {
      const std::lock_guard lock(mutex);
      taken.push_back(*range);
    }
  });
  std::sort(taken.begin(), taken.end());
  ASSERT_EQ(taken.size(), 256U);
  EXPECT_EQ(std::adjacent_find(taken.begin(), taken.end()), taken.end());
  EXPECT_EQ(taken.back(), 255U);
}

TEST(NumberRanges, LowestComesFirst) {
  number_ranges ranges{};
  EXPECT_EQ(ranges.take(), 0U);
  EXPECT_EQ(ranges.take(), 1U);
}

TEST(NumberRanges, TheHighestNumberIsOfTheLastRange) {
  number_ranges ranges{};
  EXPECT_EQ(ranges.highest(), 0U);
  for (std::uint32_t taken = 1; ranges.take().has_value(); ++taken) {
    EXPECT_EQ(ranges.highest(), (std::min)(taken * numbers_in_range, max_thread_number));
  }
  EXPECT_EQ(ranges.highest(), max_thread_number);
}

}  // namespace
}  // namespace lido::detail
