/// @file
/// Internal. A stop callback that asks another source to stop.
#pragma once

#include <stop_token>

namespace lido::inline v0::detail {

/// Asks a source to stop. Shares it, as it could otherwise be destroyed during the call.
struct stop_request {
  std::stop_source source;
  void operator()() const noexcept {
    std::stop_source kept = source;  // request_stop is not const in some libraries
    (void)kept.request_stop();
  }
};

}  // namespace lido::inline v0::detail
