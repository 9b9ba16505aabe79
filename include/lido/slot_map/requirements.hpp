/// @file
/// Internal. What slot maps require of their values, and of what they are called with.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "lido/slot_map/slot_map_hooks.hpp"

namespace lido::detail {

/// For both maps. Checked where a map is constructed, and not where its type is named. There T may
/// be incomplete, since it may have handles, pointers and maps of its own type for members.
template <class T, class Hooks>
constexpr bool values_fit() noexcept {
  static_assert(std::is_nothrow_destructible_v<T>, "lido: erase is noexcept, so ~T must be, too");
  static_assert(hooks_fit<Hooks, T>());
  return true;
}

/// Whether `less` can say which of two values is the lesser.
template <class Less, class T>
concept compares = requires(Less& less, const T& value) {
  static_cast<bool>(std::invoke(less, value, value));
};

template <class Importance, class T>
using importance_of = std::remove_cvref_t<std::invoke_result_t<Importance&, const T&>>;

/// Whether `importance` returns something that can be compared by `<`.
template <class Importance, class T>
concept ranks = requires(importance_of<Importance, T>& own, importance_of<Importance, T>& lowest) {
  static_cast<bool>(own < lowest);
};

}  // namespace lido::detail
