/// @file
/// LIDO_ATOMIC_SEAM of a build that counts read-modify-writes of lines that threads share.
///
/// That number predicts behaviour on many cores, where each such operation moves a cache line.
#pragma once

#include <atomic>
#include <cstdint>

namespace lido_bench {

/// Attempts of all threads since the start of the program, successful or not. Exact when others
/// pause. NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the one counter
inline std::atomic<std::uint64_t> shared_rmw_count{0};

}  // namespace lido_bench

namespace lido::inline v0::detail {

using std::atomic;
using std::atomic_thread_fence;

/// A std::atomic<T>, as far as the library uses it, for variables that threads share.
template <class T>
class shared_atomic {
 public:
  constexpr shared_atomic() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as std::atomic; it says explicit(false)
  explicit(false) constexpr shared_atomic(T value) noexcept : value_(value) {}

  [[nodiscard]] T load(std::memory_order order) const noexcept { return value_.load(order); }
  void store(T value, std::memory_order order) noexcept { value_.store(value, order); }

  T exchange(T value, std::memory_order order) noexcept { return counted().exchange(value, order); }
  T fetch_add(T value, std::memory_order order) noexcept {
    return counted().fetch_add(value, order);
  }
  T fetch_sub(T value, std::memory_order order) noexcept {
    return counted().fetch_sub(value, order);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) noexcept {
    return counted().compare_exchange_weak(expected, desired, success, failure);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) noexcept {
    return counted().compare_exchange_strong(expected, desired, success, failure);
  }

 private:
  std::atomic<T>& counted() noexcept {
    // relaxed: a counter that orders nothing
    lido_bench::shared_rmw_count.fetch_add(1, std::memory_order_relaxed);
    return value_;
  }

  std::atomic<T> value_;
};

template <class T>
using unscheduled_atomic = shared_atomic<T>;

inline void light_fence() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void full_fence() noexcept;

}  // namespace lido::inline v0::detail
