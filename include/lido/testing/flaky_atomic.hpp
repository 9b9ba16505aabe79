/// @file
/// Internal. An atomic whose compare-and-swap fails more often than it must.
#pragma once

#include <cstdint>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"

namespace lido::detail {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): generators of tests
inline constinit atomic<std::uint64_t> flaky_threads{0};  ///< how many have thrown
inline constinit thread_local std::uint64_t flaky_dice = 0;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

/// Number after number (Steele, Lea, Flood: SplitMix, OOPSLA 2014), the same ones in the n-th
/// thread of each run.
[[nodiscard]] inline std::uint64_t throw_flaky_dice() noexcept {
  if (flaky_dice == 0) {
    // relaxed: a count
    flaky_dice = (flaky_threads.fetch_add(1, std::memory_order_relaxed) + 1) << 32U;
  }
  std::uint64_t mixed = flaky_dice += 0x9E3779B97F4A7C15U;
  mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
  return mixed ^ (mixed >> 31U);
}

/// As `atomic`, as far as a free list needs it. A weak compare-and-swap may always fail without a
/// reason; one in five does so here. Before one in fifty the thread lets others in.
template <class T>
class flaky_atomic {
 public:
  explicit constexpr flaky_atomic(T value) noexcept : value_(value) {}

  [[nodiscard]] T load(std::memory_order order) const noexcept { return value_.load(order); }

  bool compare_exchange_weak(T& expected, T desired, std::memory_order success_order,
                             std::memory_order failure_order) noexcept {
    if (throw_flaky_dice() % 50 == 0) {
      stand_still();
    }
    if (throw_flaky_dice() % 5 == 0) {
      expected = value_.load(failure_order);
      return false;
    }
    return value_.compare_exchange_weak(expected, desired, success_order, failure_order);
  }

 private:
  /// Mostly gives the processor away, sometimes sleeps.
  static void stand_still() noexcept {
    if (throw_flaky_dice() % 4 == 0) {
      nap_thread();
    } else {
      yield_thread();
    }
  }

  atomic<T> value_;
};

}  // namespace lido::detail
