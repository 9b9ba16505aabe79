// What users of other connection pools reported of processes that fork.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>

#include "lido/keyed_resource_pool.hpp"
#include "lido/resource_pool.hpp"
#include "support/fake_server.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using test::eventually;

/// A connection that parent and child share.
struct inherited {
  int id = 0;
};

TEST(ServerCases, C13AForkedChildEndsNothing) {
  struct factory {
    std::shared_ptr<std::atomic<int>> ended = std::make_shared<std::atomic<int>>(0);
    static inherited create() { return {}; }
    void destroy(inherited& /*ended*/, destroy_reason /*why*/) const noexcept { ++*ended; }
  };
  const factory f;
  auto pool = std::make_unique<resource_pool<inherited>>(
      f, resource_pool_options{.max_size = 2, .min_idle = 2, .close_timeout = 20s});
  EXPECT_TRUE(eventually([&] { return pool->stats().idle == 2; }));
  std::optional<resource_lease<inherited>> lease = pool->acquire();
  const pid_t child = ::fork();
  if (child == 0) {
    pool->flush();
    (void)pool->kill(lease->handle());
    pool->resize(0);
    pool->suspend();
    pool->resume();
    pool->replace_factory(f);
    const bool is_warm = pool->wait_until_idle(1, 1s);
    const auto refused = pool->try_acquire_for(1s);
    lease.reset();
    pool.reset();
    const bool is_refused = !refused && refused.failure() == acquire_failure::other_process;
    ::_exit(is_refused && !is_warm && *f.ended == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  lease.reset();
  EXPECT_TRUE(pool->try_acquire_for(1s));
  EXPECT_EQ(*f.ended, 0);
}

TEST(ServerCases, C13AnAcquireWhoseCreateForksIsRefusedInTheChild) {
  struct factory {
    pid_t* child;
    [[nodiscard]] inherited create() const {
      *child = ::fork();
      return {};
    }
  };
  pid_t child = -1;
  resource_pool<inherited> pool(factory{&child},
                                {.max_size = 2, .maintenance = maintenance::by_tick});
  const auto got = pool.try_acquire_for(1s);
  if (child == 0) {
    ::_exit(!got && got.failure() == acquire_failure::other_process ? 0 : 1);
  }
  EXPECT_TRUE(got);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// In a pool without threads, as nothing else keeps it alive.
TEST(ServerCases, C13ALeaseMayOutliveItsPoolInAForkedChild) {
  struct factory {
    static inherited create() { return {}; }
  };
  auto pool = std::make_unique<resource_pool<inherited>>(
      factory{}, resource_pool_options{.max_size = 2, .maintenance = maintenance::by_tick});
  std::optional<resource_lease<inherited>> lease = pool->acquire();
  const pid_t child = ::fork();
  if (child == 0) {
    pool.reset();
    lease.reset();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// A child that only exits runs the destructors of its parent's static objects.
TEST(ServerCases, C13bAForkedChildThatExitsEndsNothing) {
  using pool_of_hosts = keyed_resource_pool<int, inherited>;
  static std::atomic<int> ended{0};
  static std::unique_ptr<pool_of_hosts> pool;
  struct factory {
    static inherited create(int /*host*/) { return {}; }
    static void destroy(inherited& /*ended*/, destroy_reason /*why*/) noexcept { ++ended; }
  };
  pool = std::make_unique<pool_of_hosts>(factory{});
  (void)pool->at(1).acquire();
  std::this_thread::sleep_for(50ms);  // what a worker still holds is leaked in the child
  const pid_t child = ::fork();
  if (child == 0) {
    std::atexit([] {
      pool.reset();
      if (ended != 0) {
        ::_exit(1);
      }
    });
    std::exit(0);  // NOLINT(concurrency-mt-unsafe): the child has one thread
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(pool->at(1).try_acquire_for(1s));
  EXPECT_EQ(ended, 0);
  pool.reset();
}

}  // namespace
}  // namespace lido
