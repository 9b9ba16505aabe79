/// @file
/// A pool on the kernel of events, without its own threads, and operations of its users.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "checker/plain.hpp"
#include "lido/resource_pool.hpp"
#include "scenarios/scenario.hpp"
#include "src/concurrency/pool_scope.hpp"

namespace model {

/// Shows whether the next user, or the end of the resource, sees what a user did.
struct tool {
  plain<int> uses{0};
};

struct stopped_clock : lido::time_source {
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept override {
    return std::chrono::nanoseconds(1);
  }
};
inline const stopped_clock time_of_tools;

/// Counts of what happened to tools. The model runs one thread at a time.
struct tool_count {
  int created = 0;
  int destroyed = 0;
  int refusals = 0;  ///< failed validations
  int failures = 0;  ///< failed creates
};

struct toolmaker {
  tool_count* count;
  [[nodiscard]] tool create() const {
    if (count->failures != 0) {
      --count->failures;
      throw std::runtime_error("not this time");
    }
    ++count->created;
    return {};
  }
  [[nodiscard]] bool validate(tool& /*idle*/) const { return count->refusals-- <= 0; }
  void destroy(tool& ended, lido::destroy_reason /*why*/) const noexcept {
    (void)ended.uses.read();
    ++count->destroyed;
  }
};

inline constexpr auto ever = std::chrono::hours(24 * 365 * 200);
/// Limits that never expire by the clock, which the model does not have, or whenever the model
/// wants.
inline constexpr auto a_time = std::chrono::hours(24 * 365 * 90);
inline constexpr auto at_once = std::chrono::nanoseconds(0);

[[nodiscard]] inline lido::resource_pool_options tool_options(std::size_t size) {
  return {.max_size = size,
          .acquire_timeout = ever,
          .idle_timeout = at_once,
          .max_lifetime = at_once,
          .keepalive = at_once,
          .validate_if_idle_longer_than = ever,
          .max_creating = size,
          .detect_hold_and_wait = false,
          .maintenance = lido::maintenance::by_tick,
          .clock = &time_of_tools};
}

/// A pool, and its users.
class tool_pool {
 public:
  using lease = lido::resource_lease<tool>;
  static constexpr std::size_t most = 2;

  /// Makes a pool with `made` resources.
  tool_pool(const lido::resource_pool_options& options, std::size_t made) {
    pool_.emplace(toolmaker{&count_}, options);
    std::array<lease, most> all;
    for (std::size_t i = 0; i < made; ++i) {
      all.at(i) = take();
    }
  }

  [[nodiscard]] lido::resource_pool<tool>& pool() { return *pool_; }
  [[nodiscard]] tool_count& count() { return count_; }

  [[nodiscard]] lease take() {
    lease got = pool_->try_acquire();
    require(static_cast<bool>(got), "a resource that is idle or may be created was not given");
    return got;
  }
  static void use(lease got) {
    got->uses.write(got->uses.read() + 1);
    got.reset();
  }
  /// Uses a resource if one is idle, without a wait.
  void try_and_use() {
    if (lease got = pool_->try_acquire()) {
      use(std::move(got));
    }
  }
  /// Waits for a resource without a limit.
  void wait_and_use() { use(pool_->acquire()); }
  /// Waits until the time is up, or the pool is closed.
  void wait_for_a_time() {
    if (auto got = pool_->try_acquire_for(a_time)) {
      use(std::move(got.lease()));
    }
  }
  void rest_until_there_are(std::size_t waiters) {
    while (pool_->stats().waiting != waiters) {
      execution::now().rest();
    }
  }
  void end_pool() { pool_.reset(); }

  /// Checks, when all threads have ended, that this number of resources is idle, no thread waits,
  /// and each resource works.
  void check(std::size_t idle) {
    const lido::resource_pool_stats stats = pool_->stats();
    require(stats.waiting == 0, "a waiter is still in the queue");
    require(stats.in_use == 0 && stats.idle == idle && stats.live == idle,
            "a resource is lost, or counted twice");
    in_threads([&] {
      std::array<lease, most> all;
      for (std::size_t i = 0; i < idle; ++i) {
        all.at(i) = take();
      }
      for (lease& one : all) {
        if (one) {
          use(std::move(one));
        }
      }
    });
    require(count_.created - count_.destroyed == static_cast<int>(idle),
            "a resource was not destroyed, or twice");
  }

 private:
  tool_count count_;
  std::optional<lido::resource_pool<tool>> pool_;
};

/// Runs `scene(pool)`. After a failure the pool is leaked: its threads are stopped in the middle of
/// an operation, and its destruction would wait for them.
template <class Scene>
void with_tools(const lido::resource_pool_options& options, std::size_t made, const Scene& scene,
                std::int64_t overtaking = 0) {
  lido::detail::resource_tuning::nanoseconds_overtaking = overtaking;
  execution::now().keep_for_each_thread(lido::detail::innermost_scope);
  auto pool = std::make_unique<tool_pool>(options, made);
  tool_pool* const kept = pool.release();
  scene(*kept);
  pool.reset(kept);
}
/// Runs a scene with all resources made.
template <class Scene>
void with_tools(std::size_t size, const Scene& scene) {
  with_tools(tool_options(size), size, scene);
}

}  // namespace model
