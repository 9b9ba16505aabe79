/// @file
/// Internal. What slot maps require of their values.
#pragma once

#include <type_traits>

#include "lido/slot_map/slot_map_hooks.hpp"

namespace lido::detail {

/// Of both maps. Asked where a map is made, and not where its type is named: there T may have
/// handles, pointers and maps of its own type for members, and so be incomplete.
template <class T, class Hooks>
constexpr bool values_fit() noexcept {
  static_assert(std::is_nothrow_destructible_v<T>, "lido: erase is noexcept, so ~T must be, too");
  static_assert(hooks_fit<Hooks, T>());
  return true;
}

}  // namespace lido::detail
