// In a build with AddressSanitizer, releasing an object that is not in use ends the program. It
// does so for every pool, even if no destructor touches the object.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory_resource>

#include "lido/block_resource.hpp"
#include "support/pool_kinds.hpp"
#include "support/sanitizers.hpp"

#if LIDO_TEST_ASAN

namespace lido {
namespace {

class WrongReleaseDeathTest : public ::testing::TestWithParam<test::pool_kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, WrongReleaseDeathTest, test::pool_kinds, test::pool_kind_name);

constexpr auto report = "lido: a release of what is not in use.*\n(.*\n)*.*AddressSanitizer";

/// Releases an object twice; the second release finds the slot free.
template <class T, class Traits = pool_traits<T>>
void expect_report(const object_pool_options& options = {.capacity = 8}) {
  object_pool<T, Traits> pool(test::of_this_kind(options));
  T* const object = pool.try_acquire_ptr();
  pool.release(object);
  EXPECT_DEATH(pool.release(object), report);
}

template <class T>
struct kept : pool_traits<T> {
  using hooks = keep;
};

TEST_P(WrongReleaseDeathTest, OfAnObject) {
  expect_report<long>();
}

TEST_P(WrongReleaseDeathTest, OfAnObjectThatIsKept) {
  expect_report<long, kept<long>>();
}

TEST_P(WrongReleaseDeathTest, OfAnObjectTooSmallForTheShadow) {
  expect_report<short>();
}

TEST_P(WrongReleaseDeathTest, OfAnObjectOfAPoolThatGrows) {
  expect_report<long>({.max_capacity = 100, .when_full = when_full::grow});
}

TEST(WrongReleaseInAnyFormDeathTest, IsReported) {
  object_pool<long> pool(8);
  object_pool<long> other(8);
  long* const object = pool.try_acquire_ptr();
  long* const foreign = other.try_acquire_ptr();
  pool.release(object);
  EXPECT_DEATH(pool.release_n(std::array<long*, 1>{object}), report);
  EXPECT_DEATH(pool.release(foreign), report);
  EXPECT_DEATH(
      {
        auto lease = pool.acquire();
        pool.release(lease.get());
      },
      report);
  void* const inside = reinterpret_cast<std::byte*>(foreign) + 1;
  EXPECT_DEATH(other.release(static_cast<long*>(inside)), report);
  other.release(foreign);
}

TEST(WrongReleaseOfABlockDeathTest, IsReported) {
  block_resource blocks({.sizes = {{.bytes = 64, .blocks = 8}, {.bytes = 256, .blocks = 8}}});
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{200}}) {
    void* const block = blocks.allocate(bytes);
    blocks.deallocate(block, bytes);
    EXPECT_DEATH(blocks.deallocate(block, bytes), report) << bytes;
  }
  block_allocator<long> allocator(blocks);
  long* const one = allocator.allocate(1);
  allocator.deallocate(one, 1);
  EXPECT_DEATH(allocator.deallocate(one, 1), report);
}

}  // namespace
}  // namespace lido

#endif
