/// @file
/// Internal. A callback that waits for a resource.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "lido/resource/resource_short_way.hpp"
#include "lido/resource/resource_waiter.hpp"

namespace lido::detail {

/// On the heap; deletes itself when its callback has been called.
class async_waiter : public resource_waiter {
 public:
  async_waiter(std::shared_ptr<resource_core> core, const acquire_request& request,
               resource_core::callback done)
      : resource_waiter(request.until, 0, &async_waiter::ended),
        core_(std::move(core)),
        at_(request.at),
        done_(std::move(done)) {}

  /// From now on a stop ends the wait. Once, before the wait begins.
  void listen(const std::stop_token& stop) { on_stop_.emplace(stop, stopper{this}); }

  /// Calls the callback and deletes itself.
  void finish(const resource_grant& grant, std::exception_ptr error) noexcept;

  // Under the mutex. NOLINTNEXTLINE(*-non-private-member-variables-in-classes): the core's note
  bool stopped = false;

 private:
  struct stopper {
    async_waiter* waiter;
    void operator()() const noexcept { waiter->core_->stop_async(*waiter); }
  };

  /// The wait was ended by somebody: given, or not.
  static void ended(resource_waiter& waiter) noexcept;

  std::shared_ptr<resource_core> core_;
  place at_;
  resource_core::callback done_;
  std::optional<std::stop_callback<stopper>> on_stop_;
};

}  // namespace lido::detail
