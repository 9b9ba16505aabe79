/// @file
/// Internal. What a stop callback does that asks another source to stop.
#pragma once

#include <stop_token>

namespace lido::inline v0::detail {

/// Has a part of the source, which may otherwise go while it is stopping.
struct stop_request {
  std::stop_source source;
  void operator()() const noexcept {
    std::stop_source kept = source;  // some libraries ask only what is not const
    (void)kept.request_stop();
  }
};

}  // namespace lido::inline v0::detail
