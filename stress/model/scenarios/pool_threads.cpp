/// Pools whose work is done by threads that they start.
#include <array>
#include <memory>
#include <utility>

#include "concurrency/rendezvous.hpp"
#include "scenarios/lent_tools.hpp"
#include "seam/pool_thread.hpp"

namespace model {

namespace {

[[nodiscard]] lido::resource_pool_options with_threads(std::size_t size) {
  lido::resource_pool_options options = tool_options(size);
  options.maintenance = lido::maintenance::own_threads;
  return options;
}

/// Calls `use(pool)` in two threads, of which the second to come back ends the pool. `threads` are
/// set aside for its workers.
template <class Use>
void end_after_two(unsigned threads, std::size_t size, const Use& use) {
  set_threads_aside(threads);
  execution::now().keep_for_each_thread(lido::detail::innermost_scope);
  // Stays behind after an execution that has failed: its end would wait for threads that are gone.
  auto count = std::make_unique<tool_count>();
  auto* pool = new lido::resource_pool<tool>(toolmaker{count.get()}, with_threads(size));
  lido::detail::rendezvous done;
  const auto come = [&] {
    use(*pool);
    if (done.comes_second()) {
      delete std::exchange(pool, nullptr);
      dismiss_threads();
    }
  };
  if (threads == 1) {
    in_threads(come, come, &run_pool_thread);
  } else {
    in_threads(come, come, &run_pool_thread, &run_pool_thread);
  }
  require(pool == nullptr, "a pool did not end");
  require(count->created != 0 && count->created == count->destroyed, "a resource is left");
}

void use_one(lido::resource_pool<tool>& pool) {
  tool_pool::use(pool.acquire());
}

// A worker that goes to sleep, or ends because it is late, as it is called.
void worker_called() {
  end_after_two(1, 2, &use_one);
}

// Where the first one has ended, a second one is started.
void two_workers() {
  end_after_two(2, 2, &use_one);
}

// A pool ends beside a worker that is about to sleep.
void end_beside_worker() {
  end_after_two(1, 1, &use_one);
}

constexpr std::array pool_threads_list{
    scenario{"pool_threads.end_beside_worker", "a pool ends beside a worker that goes to sleep",
             &end_beside_worker, false, narrow_unfailing, true},
    scenario{"pool_threads.two_workers", "two workers are started, or one is called again",
             &two_workers, false, narrow_unfailing, true},
    scenario{"pool_threads.worker_called", "a worker is called as it goes to sleep or ends",
             &worker_called, false, narrow_unfailing, true}};

}  // namespace

std::span<const scenario> pool_threads_scenarios() {
  return pool_threads_list;
}

}  // namespace model
