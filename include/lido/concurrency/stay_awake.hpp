/// @file
/// Internal. What who waits does before it sleeps.
#pragma once

#include <chrono>

#include "lido/base/tuning.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/concurrency/parking.hpp"

namespace lido::detail {

/// Whether `over()` has become true meanwhile. Who is next stays awake for about as long as a
/// wake-up takes, so it never wastes more than that (Karlin, Li, Manasse, Owicki, SOSP 1991), but
/// not longer than `until`. The others do not: they would keep those who have something from the
/// processors.
template <class Over>
[[nodiscard]] bool stay_awake(const Over& over, bool next, const deadline& until) noexcept {
  const deadline enough =
      next ? until.but_within(tuning::nanoseconds_awake) : deadline::after(std::chrono::seconds(0));
  bool is_over = false;
  do {
    for (int spin = 0; spin < tuning::spins_before_sleep && !is_over; ++spin) {
      cpu_pause();
      is_over = over();
    }
  } while (!is_over && !enough.passed());
  return is_over;
}

}  // namespace lido::detail
