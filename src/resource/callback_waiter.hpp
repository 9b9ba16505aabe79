/// @file
/// Internal. A callback that waits for a resource.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

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

  static void deliver_one(callback_wait& wait) noexcept;
  void stop() noexcept;
  [[nodiscard]] acquire_outcome outcome() noexcept;

  std::shared_ptr<pool_core> core_;
  acquire_completion done_;
  code_address at_;
  bool is_stopped_ = false;  // guarded by the mutex
  std::optional<std::stop_callback<stopper>> on_stop_;
};

}  // namespace lido::inline v0::detail
