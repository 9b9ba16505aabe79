/// @file
/// Internal. Ends waits of callbacks whose time is up.
#pragma once

#include <cstdint>
#include <memory>

#include "../concurrency/background_threads.hpp"
#include "../concurrency/pool_scope.hpp"
#include "allocator_state.hpp"
#include "lido/base/deadline_heap.hpp"
#include "lido/base/nanos.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/mutex.hpp"
#include "slot_callback.hpp"

namespace lido::inline v0::detail {

/// Keeps the time limits of the callbacks that wait for one pool. Uses the threads that pools of
/// the process share. Searches for slots from time to time if a callback must not rely on releases;
/// a waiting thread would do that itself.
///
/// A worker ends the waits and calls the callbacks, so that no callback delays other time limits.
class slot_timer final : public callback_timer, public background_user {
 public:
  /// Returns the timer of `pool`. The first call creates the timer. Throws std::bad_alloc.
  [[nodiscard]] static slot_timer& of(allocator_state& pool);

  explicit slot_timer(allocator_state& pool);

  /// Ends the wait of `waiter` at `at`. Throws std::bad_alloc if no thread can be started and the
  /// wait has not ended.
  void add(slot_callback& waiter, nanos at);
  /// Forgets the time limit of `waiter`. Has no effect if the limit has passed, since a worker then
  /// ends the wait.
  void forget(slot_callback& waiter) noexcept;
  /// Searches for slots a little later. Throws std::bad_alloc if no thread can be started.
  void look_soon();

  void stop() noexcept override;
  void note_fork() noexcept override { is_foreign_ = true; }
  [[nodiscard]] std::shared_ptr<void> run_next(lock& guard) noexcept override;
  [[nodiscard]] std::shared_ptr<void> on_alarm(lock& guard, nanos now) noexcept override;

 private:
  [[nodiscard]] bool try_wake_at(nanos at) noexcept;
  [[nodiscard]] nanos end_late_waits(callback_queue& ended) noexcept;

  allocator_state& pool_;
  const std::shared_ptr<background_threads> threads_;
  std::shared_ptr<slot_timer> self_;  ///< until `stop`
  plain_mutex mutex_;                 // guards the next two
  deadline_heap<slot_callback> waits_;
  nanos look_at_ = never;
  bool is_foreign_ = false;        // in the child of a fork, where the mutexes may stay locked
  atomic<nanos> wakes_at_{never};  ///< changes only while the mutex of the threads is held
  // Guarded by the mutex of the threads.
  bool is_offered_ = false;
  std::uint32_t workers_ = 0;  // that use the pool
};

}  // namespace lido::inline v0::detail
