/// @file
/// Internal. Keeps a thread from being cancelled where that would end the program.
#pragma once

#include "../platform/platform.hpp"

namespace lido::detail {

/// Disables cancellation of the thread while it lives. System calls for reports are cancellation
/// points, as functions of users may be. Their callers are noexcept or catch everything, so a
/// cancellation there would end the program. A request that comes meanwhile takes effect at the
/// next such point afterwards.
class uncancelled {
 public:
  uncancelled() noexcept = default;
  uncancelled(const uncancelled&) = delete;
  uncancelled& operator=(const uncancelled&) = delete;
  ~uncancelled() { platform::allow_cancel(before_); }

 private:
  int before_ = platform::forbid_cancel();
};

}  // namespace lido::detail
