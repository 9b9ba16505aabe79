/// A pool without threads, where who waits makes what it waits for, and a create may take its time.
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "scenarios/lending.hpp"

namespace model {

namespace {

/// Shut until it is opened, for one that waits.
class gate {
 public:
  void open() noexcept {
    open_.store(1, std::memory_order_release);
    lido::detail::unpark(&open_);
  }
  void pass() const noexcept {
    while (open_.load(std::memory_order_acquire) == 0) {
      (void)lido::detail::park(open_, 0, {});
    }
  }

 private:
  lido::detail::atomic<std::uint32_t> open_{0};
};

/// The first create ends at once; all later ones as the gate is open, in vain if they are to fail.
struct slow_factory {
  gate* door;
  bool fails;
  int* creates;
  [[nodiscard]] resource create() const {
    if (++*creates > 1) {
      door->pass();
      if (fails) {
        throw std::runtime_error("not this one");
      }
    }
    return {};
  }
};

/// Two resources may be, and one is made and out.
class slow_pool {
 public:
  explicit slow_pool(bool fails)
      : pool_(slow_factory{&door, fails, &creates_}, {.max_size = 2,
                                                      .acquire_timeout = never,
                                                      .idle_timeout = std::chrono::nanoseconds(0),
                                                      .max_lifetime = std::chrono::nanoseconds(0),
                                                      .keepalive = std::chrono::nanoseconds(0),
                                                      .max_creating = 1,
                                                      .detect_hold_and_wait = false,
                                                      .upkeep = lido::maintenance::by_callers,
                                                      .clock = &clock_of_all}),
        held(pool_.acquire()) {}

  void acquire_and_use() { lending::use(pool_.acquire()); }
  void check() {
    const lido::resource_pool_stats stats = pool_.stats();
    require(stats.waiters == 0 && stats.in_use == 0, "somebody waits still, or has something");
  }

  // NOLINTBEGIN(*-non-private-member-variables-in-classes): of the scenarios
  gate door;

 private:
  int creates_ = 0;
  lido::resource_pool<resource> pool_;

 public:
  lending::lease held;
  // NOLINTEND(*-non-private-member-variables-in-classes)
};

/// What has failed is left as it is.
template <class Scene>
void with_slow_pool(bool fails, const Scene& scene) {
  execution::now().keep_for_each_thread(lido::detail::ended_waiters::delivering);
  slow_pool* const pool = std::make_unique<slow_pool>(fails).release();
  scene(*pool);
  pool->check();
  const std::unique_ptr<slow_pool> over(pool);
}

// A create ends only after another one has got what comes back.
void return_beside_a_create() {
  with_slow_pool(/*fails=*/false, [](slow_pool& pool) {
    const auto acquire = [&] {
      pool.acquire_and_use();
      pool.door.open();
    };
    in_threads([&] { lending::use(std::move(pool.held)); }, acquire, acquire);
  });
}

// A create fails after something has come back.
void return_before_a_failure() {
  with_slow_pool(/*fails=*/true, [](slow_pool& pool) {
    in_threads(
        [&] {
          lending::use(std::move(pool.held));
          pool.door.open();
        },
        [&] { pool.acquire_and_use(); });
  });
}

constexpr bounds narrow{.preemptions = 2, .reorderings = 1, .failures = 0};

constexpr std::array scenarios{
    scenario{"by_callers.return_beside_a_create", "who waits is busy with a create, others go on",
             &return_beside_a_create, /*must_fail=*/false, narrow, /*waits=*/true},
    scenario{"by_callers.return_before_a_failure", "whose create fails finds what came back",
             &return_before_a_failure, /*must_fail=*/false, narrow, /*waits=*/true},
};

}  // namespace

std::span<const scenario> by_callers_scenarios() {
  return scenarios;
}

}  // namespace model
