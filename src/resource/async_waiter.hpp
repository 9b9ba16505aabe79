/// @file
/// Internal. A callback that waits for a resource, and how callbacks are called.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "lido/resource/pool_core.hpp"
#include "wait_queue.hpp"

namespace lido::detail {

/// On the heap; deletes itself when its callback has been called.
class callback_waiter : public acquire_waiter {
 public:
  callback_waiter(std::shared_ptr<pool_core> pool, const acquire_call& request,
                  std::unique_ptr<acquire_completion> completion)
      : acquire_waiter(request.until, 0, &callback_waiter::ended),
        core(std::move(pool)),
        done(std::move(completion)),
        at(request.at) {}

  /// From now on a stop ends the wait. Once, before the wait begins.
  void listen(const std::stop_token& stop) { on_stop_.emplace(stop, stopper{this}); }

  // NOLINTBEGIN(*-non-private-member-variables-in-classes): the core's note
  std::shared_ptr<pool_core> core;
  std::unique_ptr<acquire_completion> done;
  place at;
  bool is_stopped = false;  ///< under the mutex
                            // NOLINTEND(*-non-private-member-variables-in-classes)

 private:
  struct stopper {
    callback_waiter* waiter;
    void operator()() const noexcept;
  };
  static void ended(acquire_waiter& waiter) noexcept;

  std::optional<std::stop_callback<stopper>> on_stop_;
};

/// Where the thread finds callbacks that it has yet to call; null: it is not in one.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
extern constinit thread_local wait_queue* calling;

/// Calls callbacks one after the other. A callback that releases what it was given ends the wait of
/// the next, which is called after it has returned: ten thousand must not need a deep stack.
void call_all(wait_queue& ended) noexcept;

/// Calls those that wait for the callback that this thread is in. For a thread that is about to
/// sleep: it might sleep for what they have been given.
void call_before_sleep() noexcept;

}  // namespace lido::detail
