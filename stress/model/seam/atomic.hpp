/// @file
/// Stands in for <atomic> in the library: LIDO_ATOMIC_SEAM of the model build. Each access goes to
/// the checker, together with its source location in the library.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "checker/access.hpp"

namespace lido::inline v0::detail {

/// Stands in for std::atomic<T>, and has its size, but every access is one of the modelled memory.
template <class T>
class atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));

 public:
  atomic() noexcept : atomic(T{}) {}
  // NOLINTNEXTLINE(google-explicit-constructor): as std::atomic; it says explicit(false)
  explicit(false) atomic(T value) noexcept : id_(model::create(encode(value)) + 1) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  ~atomic() {
    if (id_ != 0) {
      model::destroy(location());
    }
  }

  [[nodiscard]] T load(std::memory_order order,
                       model::code_location from = model::code_location::here()) const noexcept {
    return decode(model::load(location(), order, from));
  }

  void store(T value, std::memory_order order,
             model::code_location from = model::code_location::here()) noexcept {
    model::store(location(), encode(value), order, from);
  }

  T exchange(T value, std::memory_order order,
             model::code_location from = model::code_location::here()) noexcept {
    return change([value](T) { return value; }, order, from);
  }

  T fetch_add(T value, std::memory_order order,
              model::code_location from = model::code_location::here()) noexcept {
    return change([value](T old) { return static_cast<T>(old + value); }, order, from);
  }

  T fetch_sub(T value, std::memory_order order,
              model::code_location from = model::code_location::here()) noexcept {
    return change([value](T old) { return static_cast<T>(old - value); }, order, from);
  }

  T fetch_or(T value, std::memory_order order,
             model::code_location from = model::code_location::here()) noexcept {
    return change([value](T old) { return static_cast<T>(old | value); }, order, from);
  }

  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure,
                             model::code_location from = model::code_location::here()) noexcept {
    return exchange_if(expected, desired, {success, failure}, /*weak=*/true, from);
  }

  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure,
                               model::code_location from = model::code_location::here()) noexcept {
    return exchange_if(expected, desired, {success, failure}, /*weak=*/false, from);
  }

  /// Returns the location, for the system's own use of a word, unseen by the library.
  [[nodiscard]] model::location_id location() const noexcept {
    if (id_ == 0) {
      id_ = model::create_zeroed() + 1;
    }
    return id_ - 1;
  }

 private:
  static std::uint64_t encode(T value) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(value));
    return bits;
  }

  static T decode(std::uint64_t bits) noexcept {
    T value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

  template <class Change>
  T change(Change with, std::memory_order order, model::code_location from) noexcept {
    return decode(model::read_modify_write(
        location(), [&](std::uint64_t bits) { return encode(with(decode(bits))); }, order, from));
  }

  bool exchange_if(T& expected, T desired, model::cas_orders orders, bool weak,
                   model::code_location from) noexcept {
    std::uint64_t bits = encode(expected);
    const bool stored =
        model::compare_exchange(location(), bits, encode(desired), orders, weak, from);
    expected = decode(bits);
    return stored;
  }

  /// One more than the location; 0 in memory that was only filled with zeros.
  alignas(T) alignas(model::location_id) mutable model::location_id id_;
};

template <class T>
using shared_atomic = atomic<T>;
template <class T>
using unscheduled_atomic = std::atomic<T>;

inline void light_fence(model::code_location from = model::code_location::here()) noexcept {
  model::light_fence(from);
}

inline void full_fence(model::code_location from = model::code_location::here()) noexcept {
  model::full_fence(from);
}

/// Does nothing: a thread can lose its turn at every access already.
inline void schedule_point() noexcept {}

}  // namespace lido::inline v0::detail
