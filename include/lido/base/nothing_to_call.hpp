/// @file
/// Internal. Callables of users that may turn out to be none.
#pragma once

#include <type_traits>

namespace lido::detail {

/// A pointer to a function, a std::function: what can be set to null.
template <class F>
concept may_be_nothing = std::is_pointer_v<F> || requires(F& callable) {
  callable = nullptr;
  static_cast<bool>(callable == nullptr);
};

template <class F>
[[nodiscard]] constexpr bool is_nothing(const F& callable) noexcept {
  if constexpr (may_be_nothing<F>) {
    return callable == nullptr;
  } else {
    return false;
  }
}

}  // namespace lido::detail
