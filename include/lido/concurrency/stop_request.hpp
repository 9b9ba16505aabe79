/// @file
/// Internal. A stop callback that forwards a stop request to another source.
#pragma once

#include <stop_token>

namespace lido::inline v0::detail {

/// Requests a stop through `source`. Holds a copy of `source` during the call, since the stop state
/// could otherwise be destroyed.
struct stop_request {
  std::stop_source source;
  void operator()() const noexcept {
    std::stop_source kept = source;  // request_stop is not const in some libraries
    (void)kept.request_stop();
  }
};

}  // namespace lido::inline v0::detail
