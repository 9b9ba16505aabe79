/// @file
/// Internal. A callback that waits for a resource, and the order in which callbacks are called.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "acquire_queue.hpp"
#include "acquire_waiter.hpp"
#include "lido/debug/code_address.hpp"
#include "lido/resource/pool_core.hpp"

namespace lido::inline v0::detail {

/// One wait of a callback, or of a coroutine. Lives on the heap, and deletes itself once the
/// callback has been called.
class callback_waiter final : public acquire_waiter {
 public:
  /// Calls `done` at once with an idle resource, or begins a wait for one. Throws std::bad_alloc,
  /// or whatever the functions of the sought_key throw. If it throws, `done` is not called.
  static void begin(const std::shared_ptr<pool_core>& core, const acquire_call& request,
                    acquire_completion done);

 private:
  /// Ends the wait when a stop is requested.
  struct stopper {
    callback_waiter* waiter;
    void operator()() const noexcept { waiter->stop(); }
  };

  callback_waiter(std::shared_ptr<pool_core> core, const acquire_call& request,
                  acquire_completion completion)
      : acquire_waiter(request.until, 0, &callback_waiter::deliver_one),
        core_(std::move(core)),
        done_(std::move(completion)),
        at_(request.at) {}

  static void deliver_one(acquire_waiter& waiter) noexcept;
  void stop() noexcept;
  [[nodiscard]] acquire_outcome outcome() noexcept;

  std::shared_ptr<pool_core> core_;
  acquire_completion done_;
  code_address at_;
  bool is_stopped_ = false;  // guarded by the mutex
  std::optional<std::stop_callback<stopper>> on_stop_;
};

/// Calls callbacks one after the other. A callback that releases its resource may end the wait of a
/// second callback. The second callback is called only after the first has returned, so a chain of
/// ten thousand callbacks needs no deep stack.
void call_in_turn(acquire_queue& ended) noexcept;

/// Calls the callbacks that would otherwise have to wait until the callback that this thread is
/// running returns. Called before the thread sleeps, since the thread might wait for resources that
/// those callbacks have been given.
void call_before_sleep() noexcept;

}  // namespace lido::inline v0::detail
