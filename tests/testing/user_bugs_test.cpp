// Mistakes of users that an ordinary test misses, and tools that find them. Each mistake is written
// once, as a template over the pool, and run twice: missed without the tool, and found with it.
#include <gtest/gtest.h>

#include <cstdint>

#include "lido/checked.hpp"
#include "lido/testing.hpp"
#include "support/misuse_log.hpp"
#include "support/optimiser.hpp"
#include "support/sanitizers.hpp"

namespace lido::testing {
namespace {

struct message {
  std::int64_t number = 0;
};

using plain = object_pool<message>;

// ---- "it is still there when I look"
// --------------------------------------------------------------

#if !LIDO_TEST_ASAN  // it finds the mistake by itself

/// The mistake: the object is read after its release.
template <class Pool>
std::int64_t read_too_late(Pool& pool) {
  message* object = pool.try_acquire_ptr(41);
  // Behaves like a program whose use of the object is opaque to the compiler.
  object = test::launder_for_test(object);
  pool.release(object);
  object = test::launder_for_test(object);
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

// ---- "somebody will release it"
// ----------------------------------------------------------------------

/// The mistake: an early return forgets an object.
template <class Pool>
void forget_one(Pool& pool, bool error) {
  message* const object = pool.try_acquire_ptr();
  if (error) {
    return;
  }
  pool.release(object);
}

TEST(ForgottenObject, IsFoundByTheLeakCheck) {
  test::misuse_log log;  // the end of the pool reports it, too
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
