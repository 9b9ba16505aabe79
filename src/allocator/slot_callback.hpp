/// @file
/// Internal. A callback that waits for a slot.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>

#include "../concurrency/rendezvous.hpp"
#include "lido/allocator/slot_wait.hpp"
#include "lido/base/callback.hpp"
#include "lido/base/deadline_heap.hpp"
#include "slot_waiter_queue.hpp"

namespace lido::inline v0::detail {

class allocator_state;
class slot_timer;

/// One wait of a callback, or of a coroutine. Lives on the heap, and deletes itself once the
/// callback has been called.
///
/// The thread that begins the wait and the thread that ends it synchronise. Whichever comes second
/// calls the callback, so the wait may end at any time after its construction.
class slot_callback final : public slot_waiter, public heap_hook<slot_callback> {
 public:
  /// Begins a wait in the queue of `owner`, whose state is `pool`. Calls `done` exactly once,
  /// perhaps before this function returns. Throws std::bad_alloc; `done` is then not called.
  static void begin(slot_allocator& owner, allocator_state& pool, const slot_wait& wait,
                    completion<slot_outcome> done);

 private:
  /// Ends the wait when a stop is requested.
  struct stopper {
    slot_callback* waiter;
    void operator()() const noexcept { waiter->stop(); }
  };

  slot_callback(slot_allocator& owner, allocator_state& pool,
                completion<slot_outcome> done) noexcept;

  static void come(callback_wait& wait) noexcept;
  void come_in_turn() noexcept;
  [[nodiscard]] bool comes_second() noexcept;
  void stop() noexcept;
  void leave_others() noexcept;
  void let_timer_look();
  void call() noexcept;

  slot_allocator& owner_;
  allocator_state& pool_;
  completion<slot_outcome> done_;
  rendezvous both_;
  slot_timer* timer_ = nullptr;  ///< null if the timer does not know this wait
  std::int64_t begin_;           ///< for traces
  std::optional<std::stop_callback<stopper>> on_stop_;
};

}  // namespace lido::inline v0::detail
