/// @file
/// Internal. What a stop callback does that asks another source to stop.
#pragma once

#include <stop_token>

namespace lido::inline v0::detail {

/// Shares the source, which could otherwise end while it is being stopped.
struct stop_request {
  std::stop_source source;
  void operator()() const noexcept {
    std::stop_source kept = source;  // some libraries ask only what is not const
    (void)kept.request_stop();
  }
};

}  // namespace lido::inline v0::detail
