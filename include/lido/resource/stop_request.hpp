/// @file
/// Internal. A stop callback that requests a stop of another source.
#pragma once

#include <stop_token>

namespace lido::inline v0::detail {

/// Requests a stop of `source`. Shares the stop state, which could otherwise be destroyed during
/// the call.
struct stop_request {
  std::stop_source source;
  void operator()() const noexcept {
    std::stop_source kept = source;  // request_stop is not const in some libraries
    (void)kept.request_stop();
  }
};

}  // namespace lido::inline v0::detail
