// A release of a checked pool where there is no memory at all, not even for the C and C++
// libraries: this program replaces the functions that both allocate with.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>
#include <cstdlib>

#include "lido/checked.hpp"
#include "support/crew.hpp"

namespace lido {
namespace {

constinit thread_local bool memory_is_gone = false;
constinit thread_local long refused = 0;

bool is_refused() noexcept {
  refused += memory_is_gone ? 1 : 0;
  return memory_is_gone;
}

}  // namespace
}  // namespace lido

// Names of the C library, except for the parameters.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {
void* __libc_calloc(std::size_t count, std::size_t size) noexcept;
void* __libc_malloc(std::size_t size) noexcept;
void* __libc_realloc(void* memory, std::size_t size) noexcept;

void* calloc(std::size_t count, std::size_t size) noexcept {
  return lido::is_refused() ? nullptr : __libc_calloc(count, size);
}
void* malloc(std::size_t size) noexcept {
  return lido::is_refused() ? nullptr : __libc_malloc(size);
}
void* realloc(void* memory, std::size_t size) noexcept {
  return lido::is_refused() ? nullptr : __libc_realloc(memory, size);
}
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)

namespace lido {
namespace {

using checked_pool = object_pool<int, checked_traits<int>>;

/// Releases what another thread acquired, in a new thread without memory; returns how many
/// allocations were refused during the release.
long allocations_of_a_release(checked_pool& pool) {
  int* const object = pool.try_acquire_ptr(1);
  long count = 0;
  test::run_in_new_thread([&] {
    memory_is_gone = true;
    pool.release(object);
    memory_is_gone = false;
    count = refused;
  });
  return count;
}

TEST(CheckedMemory, AReleaseInAThreadThatNeverAcquiredAllocatesNothing) {
  checked_pool pool(8);
  EXPECT_EQ(allocations_of_a_release(pool), 0);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

/// Returns whether a release that is refused memory has freed its slot nevertheless.
bool release_with_many_keys() {
  for (int made = 0; made < 64; ++made) {
    pthread_key_t key{};
    (void)pthread_key_create(&key, nullptr);
  }
  checked_pool pool(8);
  return allocations_of_a_release(pool) > 0 && pool.stats().in_use == 0;
}

// In a new process, because keys are made once.
TEST(CheckedMemoryDeathTest, WithManyKeysAReleaseGoesOnWithoutTheMemoryItIsRefused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the only thread
  EXPECT_EXIT(std::exit(release_with_many_keys() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lido
