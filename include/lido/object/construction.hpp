/// @file
/// Public: the tag `default_init`. Internal: the construction of an object in its slot.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace lido::inline v0 {

/// Tag: default-initialise, so that a trivial object gets the bytes that the slot happens to have.
struct default_init_t {
  explicit default_init_t() = default;
};
inline constexpr default_init_t default_init{};

namespace detail {

template <class... Args>
struct asks_default_init : std::false_type {};
template <class Tag>
struct asks_default_init<Tag> : std::is_same<std::remove_cvref_t<Tag>, default_init_t> {};

/// True if `make<T>(slot, Args...)` cannot throw.
template <class T, class... Args>
inline constexpr bool makes_nothrow =
    asks_default_init<Args...>::value ? std::is_nothrow_default_constructible_v<T>
                                      : std::is_nothrow_constructible_v<T, Args...>;

/// True if `make<T>(slot, Args...)` compiles.
template <class T, class... Args>
concept makeable = std::is_constructible_v<T, Args...> || requires {
  T{std::declval<Args>()...};
};

/// Constructs a T from `args`: none value-initialises, `default_init` default-initialises, and an
/// aggregate takes its members in braces.
template <class T, class... Args>
T* make(void* slot, Args&&... args) noexcept(makes_nothrow<T, Args...>) {
  if constexpr (asks_default_init<Args...>::value) {
    return ::new (slot) T;
  } else if constexpr (std::is_constructible_v<T, Args...>) {
    return ::new (slot) T(std::forward<Args>(args)...);
  } else {
    return ::new (slot) T{std::forward<Args>(args)...};
  }
}

/// Constructs a temporary as `make` does an object; value-initialises for `default_init`, too.
template <class T, class... Args>
T make_value(Args&&... args) noexcept(makes_nothrow<T, Args...>) {
  if constexpr (asks_default_init<Args...>::value) {
    return T();
  } else if constexpr (std::is_constructible_v<T, Args...>) {
    return T(std::forward<Args>(args)...);
  } else {
    return T{std::forward<Args>(args)...};
  }
}

/// True if a T is too large for the stacks of some threads that use it.
template <class T>
inline constexpr bool is_large = sizeof(T) > 1024;  // bytes

/// A value that is made before its slot is free.
template <class T>
struct value_aside {
  T value;
  [[nodiscard]] T& operator*() noexcept { return value; }
};

/// A value on the heap. T's own `operator new` is not called: it may be missing, or use the map.
template <class T>
struct large_value_aside {
  std::unique_ptr<value_aside<T>> held;
  [[nodiscard]] T& operator*() noexcept { return held->value; }
};

/// Makes a value as `make_value` does. If it is large, puts it on the heap, and may also throw
/// std::bad_alloc.
template <class T, class... Args>
[[nodiscard]] auto make_aside(Args&&... args) {
  if constexpr (is_large<T>) {
    return large_value_aside<T>{std::unique_ptr<value_aside<T>>(
        new value_aside<T>{make_value<T>(std::forward<Args>(args)...)})};
  } else {
    return value_aside<T>{make_value<T>(std::forward<Args>(args)...)};
  }
}

}  // namespace detail
}  // namespace lido::inline v0
