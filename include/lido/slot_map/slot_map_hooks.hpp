/// @file
/// Public: what the hooks of a slot map may have. Internal: how they are called.
#pragma once

#include <utility>

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

template <class Hooks, class T>
concept has_on_insert = requires(Hooks& hooks, T& value, slot_handle<T> handle) {
  hooks.on_insert(value, handle);
};
template <class Hooks, class T>
concept has_on_erase = requires(Hooks& hooks, T& value, slot_handle<T> handle) {
  hooks.on_erase(value, handle);
};
template <class Hooks, class T>
concept has_on_move = requires(Hooks& hooks, T& value, slot_handle<T> handle) {
  hooks.on_move(value, handle);
};

/// Hooks that could leave a map half changed are refused.
template <class Hooks, class T>
constexpr bool hooks_fit() noexcept {
  if constexpr (has_on_erase<Hooks, T>) {
    static_assert(noexcept(std::declval<Hooks&>().on_erase(std::declval<T&>(), slot_handle<T>())),
                  "lido: erase is noexcept, so on_erase must be, too");
  }
  if constexpr (has_on_move<Hooks, T>) {
    static_assert(noexcept(std::declval<Hooks&>().on_move(std::declval<T&>(), slot_handle<T>())),
                  "lido: on_move is told of what has happened, so it must be noexcept");
  }
  return true;
}

/// Calls the hook, if there is one. `handle_of()` is asked only then.
template <class Hooks, class T, class HandleOf>
void tell_of_erase([[maybe_unused]] Hooks& hooks, [[maybe_unused]] T& value,
                   [[maybe_unused]] HandleOf handle_of) noexcept {
  if constexpr (has_on_erase<Hooks, T>) {
    hooks.on_erase(value, handle_of());
  }
}

template <class Hooks, class T, class HandleOf>
void tell_of_move([[maybe_unused]] Hooks& hooks, [[maybe_unused]] T& value,
                  [[maybe_unused]] HandleOf handle_of) noexcept {
  if constexpr (has_on_move<Hooks, T>) {
    hooks.on_move(value, handle_of());
  }
}

}  // namespace lido::detail
