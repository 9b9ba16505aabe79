// Mistakes of users that an ordinary test passes, and what finds them. Each mistake is written
// once, as a template over the pool, and run twice: missed without, found with.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "lido/checked.hpp"
#include "lido/testing.hpp"
#include "support/crew.hpp"
#include "support/sanitizers.hpp"

namespace lido::testing {
namespace {

struct message {
  long number = 0;
};

using plain = object_pool<message>;
using tortured = object_pool<message, torture<>>;

// ---- "there is always one left"
// ------------------------------------------------------------------

/// The mistake: what finds no slot is dropped without a word.
template <class Pool>
long delivered(Pool& pool, long count) {
  long arrived = 0;
  for (long number = 1; number <= count; ++number) {
    if (const auto slot = pool.try_acquire(number)) {
      ++arrived;
    }
  }
  return arrived;
}

TEST(AlwaysOneLeft, IsMissedWithout) {
  plain pool(1000);
  EXPECT_EQ(delivered(pool, 1000), 1000);
}

TEST(AlwaysOneLeft, IsFoundByRefusals) {
  const torture_scope scope({.refusals = 50});
  tortured pool(1000);
  EXPECT_LT(delivered(pool, 1000), 1000);
}

// ---- "what I released I get back"
// -----------------------------------------------------------------

/// The mistake: a pointer is kept across a release, because the pool has always given it back.
template <class Pool>
bool keeps_its_object(Pool& pool, int rounds) {
  message* const mine = pool.try_acquire_ptr();
  bool same = true;
  message* object = mine;
  for (int round = 0; round < rounds; ++round) {
    pool.release(object);
    object = pool.try_acquire_ptr();
    same = same && object == mine;
  }
  pool.release(object);
  return same;
}

TEST(StalePointer, IsMissedWithout) {
  plain pool(1000);
  EXPECT_TRUE(keeps_its_object(pool, 1000));
}

TEST(StalePointer, IsFoundByCacheMisses) {
  const torture_scope scope;
  tortured pool(1000);
  EXPECT_FALSE(keeps_its_object(pool, 1000));
}

// ---- "it is still there when I look"
// --------------------------------------------------------------

#if !LIDO_TEST_ASAN  // which needs no kit for this one

/// The mistake: the object is read after its release.
template <class Pool>
long read_too_late(Pool& pool) {
  message* object = pool.try_acquire_ptr(41L);
  // As in a program whose use of the object the compiler cannot see through.
  asm volatile("" : "+r"(object) : : "memory");
  pool.release(object);
  asm volatile("" : "+r"(object) : : "memory");
  return object->number;
}

TEST(ReadAfterRelease, IsMissedWithout) {
  plain pool(8);
  EXPECT_EQ(read_too_late(pool), 41);
}

TEST(ReadAfterRelease, IsFoundByChecks) {
  object_pool<message, checked_traits<message>> pool(8);
  EXPECT_EQ(read_too_late(pool), 0x1deadb0b1deadb0b);
}

#endif

// ---- "it is free as soon as I say so"
// --------------------------------------------------------------

/// The mistake: `done` is set before the object is released, and the other thread, which needs its
/// slot, does not ask twice. Returns how often it got none.
template <class Pool>
int hand_over_too_early(Pool& pool, int rounds) {
  std::atomic<int> done{0};
  std::atomic<int> taken{0};
  int failures = 0;
  const auto wait_for = [](std::atomic<int>& turn, int round) {
    while (turn.load() < round) {
      std::this_thread::yield();
    }
  };
  message* object = pool.try_acquire_ptr();
  std::jthread other([&] {
    for (int round = 1; round <= rounds; ++round) {
      wait_for(done, round);
      message* found = pool.try_acquire_ptr();
      failures += found == nullptr ? 1 : 0;
      while (found == nullptr) {
        found = pool.try_acquire_ptr();
      }
      pool.release(found);
      taken.store(round);
    }
  });
  for (int round = 1; round <= rounds; ++round) {
    done.store(round);
    pool.release(object);
    wait_for(taken, round);
    object = pool.try_acquire_ptr();
  }
  pool.release(object);
  other.join();
  return failures;
}

// Without the kit it depends on the machine how often this fails, so nothing is asserted about it.
TEST(EarlySignal, IsFoundByDelays) {
  const torture_scope scope({.delays = 500});
  tortured pool(1);
  EXPECT_GT(hand_over_too_early(pool, 200), 0);
}

// ---- "somebody will release it"
// ----------------------------------------------------------------------

/// The mistake: on the way out in the middle an object is forgotten.
template <class Pool>
void forget_one(Pool& pool, bool error) {
  message* const object = pool.try_acquire_ptr();
  if (error) {
    return;
  }
  pool.release(object);
}

TEST(ForgottenObject, IsFoundByTheLeakCheck) {
  plain pool(100);
  leak_check guard(pool);
  forget_one(pool, /*error=*/false);
  EXPECT_EQ(guard.leaked(), 0U);
  forget_one(pool, /*error=*/true);
  EXPECT_EQ(guard.leaked(), 1U);
  guard.reset();
}

}  // namespace
}  // namespace lido::testing
