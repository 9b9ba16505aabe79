#include <gtest/gtest.h>

#include <array>

#include "lido/object_pool.hpp"
#include "support/sanitizers.hpp"

namespace lido {
namespace {

/// An object whose destructor uses its pool.
struct meddling {
  object_pool<meddling>* pool = nullptr;
  void (*act)(object_pool<meddling>&) = nullptr;
  ~meddling() {
    if (act != nullptr) {
      act(*pool);
    }
  }
};

#if LIDO_ASSERTIONS
TEST(ReleaseAllDeathTest, DestructorsMustNotUseThePool) {
  constexpr std::array<void (*)(object_pool<meddling>&), 3> acts{
      [](object_pool<meddling>& pool) { (void)pool.try_acquire_ptr(); },
      [](object_pool<meddling>& pool) { pool.release_all(); },
      [](object_pool<meddling>& pool) {
        std::array<meddling*, 2> some{};
        (void)pool.try_acquire_n(some);
      }};
  for (auto* const act : acts) {
    EXPECT_DEATH(
        {
          object_pool<meddling> pool(8);
          meddling* const object = pool.try_acquire_ptr();
          object->pool = &pool;
          object->act = act;
          pool.release_all();
        },
        "a destructor that release_all calls uses the pool");
  }
}
#endif

#if LIDO_TEST_ASAN
TEST(ReleaseAllDeathTest, AddressSanitizerReportsALaterRelease) {
  object_pool<long> pool(8);
  long* const object = pool.try_acquire_ptr();
  pool.release_all();
  EXPECT_DEATH(pool.release(object), "lido: a release of what is not in use");
  EXPECT_DEATH(*object = 1, "use-after-poison");
}
#endif

}  // namespace
}  // namespace lido
