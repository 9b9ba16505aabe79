/// @file
/// LIDO_ATOMIC_SEAM of the mutated copy outside of the model: a schedule point before each access.
///
/// It lets a test stop a thread, or run another one, between any two accesses. The program chooses
/// at link time what a point does: fuzz_schedule.cpp, stall.cpp or fuzz/windows.cpp.
#pragma once

#include <atomic>

namespace lido::inline v0::detail {

/// The kind of the thread's next access.
enum class access : bool { load, change };

void schedule_point(access next = access::change) noexcept;

/// A std::atomic<T> with a schedule point before each access, as far as the library uses it. Always
/// inlined, so that each access of the library has its own point, with its own code address.
template <class T>
class atomic {
 public:
  constexpr atomic() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as std::atomic; it says explicit(false)
  explicit(false) constexpr atomic(T value) noexcept : value_(value) {}

  [[nodiscard, gnu::always_inline]] T load(std::memory_order order) const noexcept {
    schedule_point(access::load);
    return value_.load(order);
  }

  [[gnu::always_inline]] void store(T value, std::memory_order order) noexcept {
    schedule_point();
    value_.store(value, order);
  }

  [[gnu::always_inline]] T exchange(T value, std::memory_order order) noexcept {
    schedule_point();
    return value_.exchange(value, order);
  }

  [[gnu::always_inline]] T fetch_add(T value, std::memory_order order) noexcept {
    schedule_point();
    return value_.fetch_add(value, order);
  }

  [[gnu::always_inline]] T fetch_sub(T value, std::memory_order order) noexcept {
    schedule_point();
    return value_.fetch_sub(value, order);
  }

  [[gnu::always_inline]] T fetch_or(T value, std::memory_order order) noexcept {
    schedule_point();
    return value_.fetch_or(value, order);
  }

  [[gnu::always_inline]] bool compare_exchange_weak(T& expected, T desired,
                                                    std::memory_order success,
                                                    std::memory_order failure) noexcept {
    schedule_point();
    return value_.compare_exchange_weak(expected, desired, success, failure);
  }

  [[gnu::always_inline]] bool compare_exchange_strong(T& expected, T desired,
                                                      std::memory_order success,
                                                      std::memory_order failure) noexcept {
    schedule_point();
    return value_.compare_exchange_strong(expected, desired, success, failure);
  }

 private:
  std::atomic<T> value_;
};

template <class T>
using shared_atomic = atomic<T>;
template <class T>
using unscheduled_atomic = std::atomic<T>;

using std::atomic_thread_fence;  // windows.toml adds its point

/// Has no point: it only affects the compiler, so the access after it is the same point.
inline void light_fence() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void full_fence() noexcept;

}  // namespace lido::inline v0::detail
