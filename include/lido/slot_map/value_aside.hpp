/// @file
/// Internal. Values of maps that are constructed before their slot is free.
#pragma once

#include <memory>
#include <utility>

#include "lido/object/construction.hpp"

namespace lido::inline v0::detail {

/// True if a T is too large for the stack of some threads.
template <class T>
inline constexpr bool is_large = sizeof(T) > 1024;  // bytes

/// A value that is constructed before its slot is free.
template <class T>
struct value_aside {
  T value;
  [[nodiscard]] T& operator*() noexcept { return value; }
};

/// A value on the heap. T's own `operator new` is not called, because it may be missing or may use
/// the map.
template <class T>
struct large_value_aside {
  std::unique_ptr<value_aside<T>> held;
  [[nodiscard]] T& operator*() noexcept { return held->value; }
};

/// Makes a value as `make_value` does. Puts a large value on the heap. This may throw
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

}  // namespace lido::inline v0::detail
