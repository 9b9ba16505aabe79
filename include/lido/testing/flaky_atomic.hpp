/// @file
/// Internal. An atomic whose compare-and-swap fails more often than it must.
#pragma once

#include "lido/concurrency/atomic.hpp"
#include "lido/testing/torture.hpp"

namespace lido::detail {

/// As `atomic`, as far as a free list needs it. A weak compare-and-swap may always fail without a
/// reason; this one does, as often as the torture says, and lets other threads in before.
template <class T>
class flaky_atomic {
 public:
  explicit constexpr flaky_atomic(T value) noexcept : value_(value) {}

  [[nodiscard]] T load(std::memory_order order) const noexcept { return value_.load(order); }

  bool compare_exchange_weak(T& expected, T desired, std::memory_order success_order,
                             std::memory_order failure_order) noexcept {
    perhaps_delay();
    if (happens(torture_now.cas_failures)) {
      expected = value_.load(failure_order);
      return false;
    }
    return value_.compare_exchange_weak(expected, desired, success_order, failure_order);
  }

 private:
  atomic<T> value_;
};

}  // namespace lido::detail
