/// @file
/// Internal. One wait for a resource, by a thread, a callback or a coroutine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "../concurrency/pool_scope.hpp"
#include "../concurrency/wait_word.hpp"
#include "create_outcome.hpp"
#include "lease_monitor.hpp"
#include "lido/base/deadline_heap.hpp"
#include "lido/resource/factory_hooks.hpp"
#include "lido/resource/slot.hpp"
#include "lido/resource/stats.hpp"

namespace lido::inline v0::detail {

class acquire_waiter;
class slot_group;

/// What a failed acquire reports, including the statistics of its group at the time of the failure.
struct refusal {
  resource_pool_stats counts;
  std::size_t total_live = 0;               ///< live resources of all keys
  std::size_t max_total = 0;                ///< 0 in a pool without keys
  std::shared_ptr<const std::string> pool;  ///< names the pool and the key; null without keys
  std::shared_ptr<const create_failure_text> error;
  holder_list holders;
};

/// What a waiter was given.
enum class grant_kind : std::uint8_t {
  resource,  ///< a resource that is fit for use
  validate,  ///< an idle resource that the waiter must validate before use
  /// An empty slot in which the waiter creates a resource; only in pools without threads.
  create
};

/// When a waiter arrived, and its position in the order of all waiters.
struct arrival {
  nanos at = 0;            ///< time of the arrival, in real time
  std::int64_t order = 0;  ///< position among the waiters of all groups
  bool is_urgent = false;  ///< served before other waiters; may also use the reserve
};

/// What one waiter has learned about silent resources, that is, resources that do not answer their
/// validation.
struct met_silence {
  bool in_validation = false;  ///< a resource that the waiter validated itself was silent
  /// A resource was closed to make room for a create for this waiter.
  bool has_replacement = false;
};

/// The neighbours of a waiter in an acquire_queue.
struct queue_links {
  bool is_linked = false;
  acquire_waiter* next = nullptr;
  acquire_waiter* previous = nullptr;
};

/// One wait, by a thread or a callback. A thread's waiter is on the stack of that thread; a
/// callback's waiter is on the heap.
///
/// The pool's mutex guards everything except `word`, which the waiting thread and the kernel change
/// without relying on the mutex. Once the wait has ended, `grant` and `kind` belong to the waiter.
class alignas(no_false_sharing) acquire_waiter : public callback_wait,
                                                 public heap_hook<acquire_waiter> {
 public:
  acquire_waiter(deadline latest, std::uint32_t of_thread, delivery to = nullptr) noexcept
      : callback_wait(to), until(latest), thread(of_thread), may_look(to == nullptr) {}
  acquire_waiter(const acquire_waiter&) = delete;
  acquire_waiter& operator=(const acquire_waiter&) = delete;
  ~acquire_waiter() = default;

  [[nodiscard]] acquire_failure cause() const noexcept {
    return static_cast<acquire_failure>(word.cause());
  }
  /// Returns true if this waiter waits again because its own validation or create gave it no usable
  /// resource.
  [[nodiscard]] bool comes_back() const noexcept { return kind != grant_kind::resource; }
  /// Returns true if the deadline has passed. Always returns false for an acquire that takes only
  /// what is available at once.
  [[nodiscard]] bool is_late(nanos real) const noexcept {
    return until.nanoseconds() <= real && !until.is_at_once();
  }

  wait_word word;
  deadline until;              ///< in real time; changed by `wait_for_answer`
  const std::uint32_t thread;  ///< 0 for a callback
  slot_group* group = nullptr;
  slot_grant grant;
  grant_kind kind = grant_kind::resource;
  arrival came;
  nanos wakes_at = never;  ///< when the thread next looks for a resource, in real time
  bool is_awake = false;   ///< the thread will look for a resource before it sleeps
  /// False for callbacks, and for threads that are running a callback, since callbacks may take
  /// long.
  bool may_look;
  bool holds = false;  ///< the thread holds a resource of the pool
  met_silence silence;
  refusal why;  ///< what is reported if the wait ends without a resource
  queue_links links;
};

}  // namespace lido::inline v0::detail
