/// @file
/// Internal. Values of maps that are made before their slot is free.
#pragma once

#include <memory>
#include <utility>

#include "lido/object/construction.hpp"

namespace lido::inline v0::detail {

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

}  // namespace lido::inline v0::detail
