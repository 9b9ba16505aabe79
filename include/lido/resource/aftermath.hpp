/// @file
/// Internal. What is found out under a pool's mutex and done without it.
#pragma once

#include "lido/resource/factory.hpp"
#include "lido/resource/resource_waiter.hpp"

namespace lido::detail {

class resource_core;

/// What has to be done after the mutex was given back; does it at its end.
class aftermath {
 public:
  explicit aftermath(resource_core& core) noexcept : core_(core) {}
  aftermath(const aftermath&) = delete;
  aftermath& operator=(const aftermath&) = delete;
  ~aftermath();

  /// Whether its end takes as long as users like.
  [[nodiscard]] bool calls_users() const noexcept {
    return ended.has_callbacks() || unwanted.slot != nullptr;
  }

  // NOLINTBEGIN(*-non-private-member-variables-in-classes): a list of things to do
  ended_waiters ended;
  resource_grant unwanted;  ///< taken, and nobody needs it: one at most
  destroy_reason why = destroy_reason::killed;
  bool work = false;
  bool plans = false;
  bool drained = false;
  // NOLINTEND(*-non-private-member-variables-in-classes)

 private:
  resource_core& core_;
};

}  // namespace lido::detail
