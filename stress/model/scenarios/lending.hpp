/// @file
/// A pool of resources that says whether two had one at once, and what its users do.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "checker/plain.hpp"
#include "lido/resource/resource_pool.hpp"
#include "scenarios/scenario.hpp"

namespace model {

/// Says whether what one user did is visible to the next.
struct resource {
  plain<int> uses{0};
};

struct still_clock : lido::time_source {
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept override {
    return std::chrono::nanoseconds(1);
  }
};
inline const still_clock clock_of_all;

/// What has become of resources; the model runs one thread at a time.
struct toll {
  int created = 0;
  int destroyed = 0;
};

struct factory {
  toll* count;
  [[nodiscard]] resource create() const {
    ++count->created;
    return {};
  }
  void destroy(resource& /*ended*/, lido::destroy_reason /*why*/) const noexcept {
    ++count->destroyed;
  }
};

inline constexpr auto never = std::chrono::hours(24 * 365 * 200);
inline constexpr auto some_time = std::chrono::microseconds(1);  // over whenever the model wants
inline constexpr auto no_time = std::chrono::nanoseconds(1);

/// A pool with its resources made, and what its users do.
class lending {
 public:
  using lease = lido::resource_lease<resource>;

  /// `overtake_for`: as in the options.
  explicit lending(std::size_t size, std::chrono::nanoseconds overtake_for = {}) {
    execution::now().keep_for_each_thread(lido::detail::ended_waiters::delivering);
    pool_.emplace(factory{&toll_},
                  lido::resource_pool_options{.max_size = size,
                                              .acquire_timeout = never,
                                              .idle_timeout = std::chrono::nanoseconds(0),
                                              .max_lifetime = std::chrono::nanoseconds(0),
                                              .keepalive = std::chrono::nanoseconds(0),
                                              .max_creating = size,
                                              .overtake_for = overtake_for,
                                              .upkeep = lido::maintenance::by_tick,
                                              .clock = &clock_of_all});
    std::array<lease, 4> all;
    for (std::size_t i = 0; i < size; ++i) {
      (void)pool_->try_acquire();
      pool_->tick();
      all.at(i) = pool_->try_acquire();
      require(static_cast<bool>(all.at(i)), "a resource was not made");
    }
  }

  [[nodiscard]] lido::resource_pool<resource>& pool() { return *pool_; }
  [[nodiscard]] const toll& count() const { return toll_; }

  [[nodiscard]] lease take() {
    lease got = pool_->try_acquire();
    require(static_cast<bool>(got), "an idle resource was not found");
    return got;
  }

  static void use(lease got) {
    got->uses.write(got->uses.read() + 1);
    got.reset();
  }

  /// Returns whether there was one.
  bool try_and_use() {
    lease got = pool_->try_acquire();
    const bool had_one = static_cast<bool>(got);
    if (had_one) {
      use(std::move(got));
    }
    return had_one;
  }

  /// Waits as long as it takes.
  void wait_and_use() { use(pool_->acquire()); }

  /// Waits until it is too late, or the pool is closed.
  void wait_for_a_time() {
    try {
      use(pool_->acquire_for(some_time));
    } catch (const lido::acquire_error& /*error*/) {
    }
  }
  void wait_for_the_end() {
    try {
      use(pool_->acquire());
    } catch (const lido::acquire_error& /*error*/) {
    }
  }

  void end_pool() { pool_.reset(); }

  /// After all threads: as many resources are idle, and nobody waits.
  void check(std::size_t idle) {
    const lido::resource_pool_stats stats = pool_->stats();
    require(stats.waiters == 0, "somebody is still in the queue");
    require(stats.in_use == 0 && stats.idle == idle && stats.live == idle,
            "a resource is lost, or counted twice");
    in_threads([&] {
      std::array<lease, 4> all;
      for (std::size_t i = 0; i < idle; ++i) {
        all.at(i) = take();
      }
      for (lease& one : all) {
        if (one) {
          use(std::move(one));
        }
      }
    });
  }

 private:
  toll toll_;
  std::optional<lido::resource_pool<resource>> pool_;
};

/// Runs `scene(pool)`. What has failed is left as it is: its threads stand still in the middle of
/// the pool, whose end would wait for them.
template <class Scene>
void with_pool(std::size_t size, const Scene& scene, std::chrono::nanoseconds overtake_for = {}) {
  auto pool = std::make_unique<lending>(size, overtake_for);
  lending* const kept = pool.release();
  scene(*kept);
  pool.reset(kept);
}

}  // namespace model
