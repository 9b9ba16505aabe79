/// @file
/// Measures times of a few nanoseconds, minus the time of reading the clock.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <numeric>

namespace demo {

class stopwatch {
 public:
  using clock = std::chrono::steady_clock;

  /// Runs `action` and adds the nanoseconds it took to `total`. A single time may be slightly below
  /// zero; it counts, so that means of many are right even if the clock is coarse.
  template <class Action>
  auto time(double& total, Action&& action) const {
    const clock::time_point start = clock::now();
    auto outcome = action();
    total += since(start) - clock_cost_;
    return outcome;
  }

 private:
  static double since(clock::time_point start) {
    return std::chrono::duration<double, std::nano>(clock::now() - start).count();
  }

  /// Returns the mean of back-to-back readings without the slowest tenth, which were interrupted.
  static double measure_clock_cost() {
    std::array<double, 2000> costs{};
    for (double& cost : costs) {
      cost = since(clock::now());
    }
    auto* const slowest = costs.begin() + costs.size() * 9 / 10;
    std::nth_element(costs.begin(), slowest, costs.end());
    return std::accumulate(costs.begin(), slowest, 0.0) /
           static_cast<double>(slowest - costs.begin());
  }

  double clock_cost_ = measure_clock_cost();
};

}  // namespace demo
