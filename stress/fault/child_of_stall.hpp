/// @file
/// Checks of a child that was forked while a thread of its parent was stopped: which slots it
/// finds, and that it does not wait for that thread.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "harness/pools.hpp"
#include "lido/base/tuning.hpp"
#include "lido/checked.hpp"

namespace stress {

template <class Element>
void require_distinct(const run& run, std::vector<Element*> all,
                      const std::vector<Element*>& victims) {
  all.insert(all.end(), victims.begin(), victims.end());
  std::sort(all.begin(), all.end());
  if (std::adjacent_find(all.begin(), all.end()) != all.end()) {
    run.broken("a slot was handed out twice");
  }
}

/// Seconds after which a hanging child is killed.
inline constexpr unsigned child_seconds = 40;

/// Checks that each refusal comes at once. Requires: one thread, which was just refused a slot.
///
/// The pool gives up waiting for a thread that does not exist in the child after a fixed time, so a
/// refusal that waits is never fast. One that does not wait may be preempted, but not again and
/// again.
template <class Pool>
void require_fast_refusal(const run& run, Pool& pool) {
  constexpr std::chrono::nanoseconds slow(lido::detail::tuning::nanoseconds_of_patience / 2);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    if (pool.try_acquire_ptr(lido::default_init) != nullptr) {
      run.broken("the child was refused a slot that was free");
    }
    if (std::chrono::steady_clock::now() - start < slow) {
      return;
    }
  }
  run.broken("the child waits for threads that it does not have");
}

/// Takes all free slots without waiting for threads that do not exist in the child.
template <class Pool, class Element>
std::vector<Element*> take_all(const run& run, Pool& pool, std::size_t capacity,
                               const std::vector<Element*>& victims) {
  std::vector<Element*> all;
  while (Element* const object = pool.try_acquire_ptr(lido::default_init)) {
    all.push_back(object);
    if (all.size() > capacity) {
      break;  // require_distinct reports why
    }
  }
  require_distinct(run, all, victims);
  require_fast_refusal(run, pool);
  return all;
}

/// Runs the checks in the child. Requires: no other thread. `victims`: slots of the stopped thread;
/// `found`: number of slots that its parent found.
template <class Pool, class Element>
void live_as_child(run& run, std::unique_ptr<Pool>& pool, const lido::object_pool_options& options,
                   const std::vector<Element*>& victims, std::size_t found) {
  (void)::alarm(child_seconds);
  const std::size_t capacity = std::max(options.capacity, options.max_capacity);
  const std::vector<Element*> all = take_all(run, *pool, capacity, victims);
  if (all.size() < found) {
    run.broken("the child finds " + std::to_string(all.size()) + " slots, its parent " +
               std::to_string(found));
  }
  pool->release_n(all);
  run.in_threads(4, [&](unsigned /*thread*/) { (void)count_acquirable(*pool); });
  const std::vector<Element*> again = take_all(run, *pool, capacity, victims);
  if (again.size() != all.size()) {
    run.broken("the child has " + std::to_string(again.size()) + " slots of " +
               std::to_string(all.size()) + "; parent " + std::to_string(found) + ", victim " +
               std::to_string(victims.size()));
  }
  pool->release_n(again);
  // What the victim held, or was just putting back, has no owner in the child. A checked pool
  // reports that when it ends; any other report aborts.
  (void)lido::set_misuse_handler([](const lido::misuse& what) noexcept {
    if (what.kind != lido::misuse_kind::leak &&
        what.kind != lido::misuse_kind::write_after_release) {
      std::abort();
    }
  });
  pool = std::make_unique<Pool>(options);
  (void)lido::set_misuse_handler(nullptr);
  run.in_threads(2, [&](unsigned /*thread*/) { (void)count_acquirable(*pool); });
  if (count_acquirable(*pool) != capacity) {
    run.broken("the child's own pool has lost slots");
  }
}

}  // namespace stress
