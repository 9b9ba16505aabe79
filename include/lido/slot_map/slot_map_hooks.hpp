/// @file
/// Public: what the hooks of a slot map may have. Internal: what is asked of them and of T.
#pragma once

#include <concepts>
#include <type_traits>

#include "lido/base/no_hooks.hpp"
#include "lido/slot_map/slot_handle.hpp"

namespace lido::detail {

// Hooks of a slot map: any type that has some of
//
//     void on_insert(T& value, slot_handle<T> handle);           // a value was made
//     void on_erase(T& value, slot_handle<T> handle) noexcept;   // it is about to be destroyed
//     void on_move(T& value, slot_handle<T> handle) noexcept;    // it now has another address
//
// An on_insert that throws takes the insertion back: on_erase is not called for that value. None
// of them may change the map. The values that a map still has when it ends are not announced.

// As those of a pool (object/hooks.hpp), hooks are looked up by name, so that one with a wrong
// signature is an error and not ignored.
struct map_hook_names {
  void on_insert();
  void on_erase();
  void on_move();
};
template <class Hooks>
struct map_hook_probe : Hooks, map_hook_names {};

template <class Hooks>
concept names_on_insert = !requires {
  &map_hook_probe<Hooks>::on_insert;
};
template <class Hooks>
concept names_on_erase = !requires {
  &map_hook_probe<Hooks>::on_erase;
};
template <class Hooks>
concept names_on_move = !requires {
  &map_hook_probe<Hooks>::on_move;
};

template <class Hooks, class T>
concept has_on_insert = requires(Hooks& hooks, T& value, slot_handle<T> handle) {
  { hooks.on_insert(value, handle) } -> std::same_as<void>;
};
template <class Hooks, class T>
concept has_on_erase = requires(Hooks& hooks, T& value, slot_handle<T> handle) {
  { hooks.on_erase(value, handle) }
  noexcept->std::same_as<void>;
};
template <class Hooks, class T>
concept has_on_move = requires(Hooks& hooks, T& value, slot_handle<T> handle) {
  { hooks.on_move(value, handle) }
  noexcept->std::same_as<void>;
};

/// Hooks that would never be called, or could leave a map half changed, are refused.
template <class Hooks, class T>
constexpr bool hooks_fit() noexcept {
  static_assert(std::is_class_v<Hooks> && !std::is_final_v<Hooks>,
                "lido: the Hooks of a slot map are a class, which is not final");
  if constexpr (!std::same_as<Hooks, no_hooks>) {
    static_assert(names_on_insert<Hooks> || names_on_erase<Hooks> || names_on_move<Hooks>,
                  "lido: Hooks has none of on_insert, on_erase and on_move");
    static_assert(!names_on_insert<Hooks> || has_on_insert<Hooks, T>,
                  "lido: on_insert must take (T&, slot_handle<T>) and return void");
    static_assert(!names_on_erase<Hooks> || has_on_erase<Hooks, T>,
                  "lido: on_erase must take (T&, slot_handle<T>), return void and be noexcept, "
                  "since erase is");
    static_assert(
        !names_on_move<Hooks> || has_on_move<Hooks, T>,
        "lido: on_move must take (T&, slot_handle<T>), return void and be noexcept, since "
        "it is told of what has happened");
  }
  return true;
}

/// What both maps require of their values. Checked where a map is constructed, and not where its
/// type is named. There T may be incomplete, since it may have handles, pointers and maps of its
/// own type for members.
template <class T, class Hooks>
constexpr bool values_fit() noexcept {
  static_assert(std::is_nothrow_destructible_v<T>, "lido: erase is noexcept, so ~T must be, too");
  static_assert(hooks_fit<Hooks, T>());
  return true;
}

}  // namespace lido::detail
