// A process that gets no more thread-specific keys. The check runs in a new process, because the
// key is made once.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstdlib>

#include "lido/concurrency/thread_number.hpp"

namespace lido::detail {
namespace {

void use_up_all_keys() {
  pthread_key_t key{};
  while (pthread_key_create(&key, nullptr) == 0) {
  }
}

TEST(ThreadNumberDeathTest, NoThreadGetsOneWhenTheKeysAreUsedUp) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        use_up_all_keys();
        const bool assigned = assign_thread_number();
        // NOLINTNEXTLINE(concurrency-mt-unsafe): the only thread
        std::exit(!assigned && own_thread_offset() == 0 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lido::detail
