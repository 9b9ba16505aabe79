/// @file
/// Internal. What an acquire asks for.
#pragma once

#include <stop_token>

#include "lido/concurrency/parking.hpp"
#include "lido/debug/place.hpp"

namespace lido::detail {

struct acquire_request {
  deadline until;
  std::stop_token stop;
  place at;
  bool looks_after = true;  ///< the pool, if that is due, and if who acquires does that

  /// Who gives no time at all is never late.
  [[nodiscard]] bool is_over() const noexcept {
    return stop.stop_requested() || (!until.is_at_once() && until.passed());
  }
  [[nodiscard]] bool has_time() const noexcept { return !stop.stop_requested() && !until.passed(); }
};

}  // namespace lido::detail
