/// @file
/// Public: the tag `default_init`. Internal: the construction of an object in its slot.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "lido/platform/compiler.hpp"

namespace lido::inline v0 {

/// Tag that requests default-initialisation: a trivial object keeps whatever bytes its slot
/// contains.
struct default_init_t {
  explicit default_init_t() = default;
};
/// Tag for acquires whose object is default-initialised.
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

LIDO_FEWER_VALUES_BEGIN

/// Constructs a T in `slot` from `args`. Without arguments, value-initialises the T; with
/// `default_init`, default-initialises it. If no constructor matches, list-initialises the T, since
/// aggregates need that.
template <class T, class... Args>
T* make(void* slot, Args&&... args) noexcept(makes_nothrow<T, Args...>) {
  static_assert(sizeof...(Args) != 0 || makeable<T>,
                "lido: T has no default constructor, so this call needs the arguments of another "
                "constructor");
  if constexpr (asks_default_init<Args...>::value) {
    return ::new (slot) T;
  } else if constexpr (std::is_constructible_v<T, Args...>) {
    return ::new (slot) T(std::forward<Args>(args)...);
  } else {
    return ::new (slot) T{std::forward<Args>(args)...};
  }
}

/// Constructs a T from `args` as `make` does, and returns it. With `default_init`,
/// value-initialises the T instead.
template <class T, class... Args>
T make_value(Args&&... args) noexcept(makes_nothrow<T, Args...>) {
  static_assert(sizeof...(Args) != 0 || makeable<T>,
                "lido: T has no default constructor, so this call needs the arguments of another "
                "constructor");
  if constexpr (asks_default_init<Args...>::value) {
    return T();
  } else if constexpr (std::is_constructible_v<T, Args...>) {
    return T(std::forward<Args>(args)...);
  } else {
    return T{std::forward<Args>(args)...};
  }
}

LIDO_FEWER_VALUES_END

}  // namespace detail
}  // namespace lido::inline v0
