/// @file
/// Internal. What hooks of `policy::keep_constructed` must look like, and words for what is wrong
/// with them.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "lido/base/no_hooks.hpp"

namespace lido::detail {

// A hook is looked up by its name alone, so that one with wrong parameters is an error and not
// ignored: a name that a class inherits from two bases is ambiguous.
struct hook_names {
  void create();
  void activate();
  void deactivate();
  void destroy();
};
template <class Hooks>
struct hook_probe : Hooks, hook_names {};

template <class Hooks>
concept hook_class = std::is_class_v<Hooks> && !std::is_final_v<Hooks>;

template <class Hooks>
concept names_create = !requires {
  &hook_probe<Hooks>::create;
};
template <class Hooks>
concept names_activate = !requires {
  &hook_probe<Hooks>::activate;
};
template <class Hooks>
concept names_deactivate = !requires {
  &hook_probe<Hooks>::deactivate;
};
template <class Hooks>
concept names_destroy = !requires {
  &hook_probe<Hooks>::destroy;
};
template <class Hooks>
concept names_a_hook =
    names_create<Hooks> || names_activate<Hooks> || names_deactivate<Hooks> || names_destroy<Hooks>;

template <class Hooks, class T>
concept creating_hooks = requires(Hooks& hooks) {
  { hooks.create() } -> std::same_as<T>;
};

template <class Hooks, class T, class... Args>
concept activating_hooks = requires(Hooks& hooks, T& object, Args&&... args) {
  { hooks.activate(object, std::forward<Args>(args)...) } -> std::same_as<void>;
};

template <class Hooks, class T>
concept always_deactivating_hooks = requires(Hooks& hooks, T& object) {
  { hooks.deactivate(object) } -> std::same_as<void>;
};
template <class Hooks, class T>
concept refusing_hooks = requires(Hooks& hooks, T& object) {
  { hooks.deactivate(object) } -> std::same_as<bool>;
};

template <class Hooks, class T>
concept destroying_hooks = requires(Hooks& hooks, T& object) {
  { hooks.destroy(object) }
  noexcept->std::same_as<void>;
};

/// Refuses to be instantiated for hooks that do not fit T.
template <class T, class Hooks>
struct fitting_hooks {
  static_assert(hook_class<Hooks>,
                "lido: keep_constructed<Hooks> takes a class as Hooks, which is not final");
  static_assert(std::same_as<Hooks, no_hooks> || names_a_hook<Hooks>,
                "lido: Hooks has none of create, activate, deactivate and destroy");
  static_assert(names_create<Hooks> || std::is_default_constructible_v<T>,
                "lido: T has no default constructor, so Hooks needs a create() that returns a T");
  static_assert(!names_create<Hooks> || creating_hooks<Hooks, T>,
                "lido: Hooks::create() must take nothing and return a T");
  static_assert(!names_deactivate<Hooks> || always_deactivating_hooks<Hooks, T> ||
                    refusing_hooks<Hooks, T>,
                "lido: Hooks::deactivate(T&) must return void, or bool: false refuses the object");
  static_assert(!names_destroy<Hooks> || destroying_hooks<Hooks, T>,
                "lido: Hooks::destroy(T&) must return void and be noexcept, since release is");
};

}  // namespace lido::detail
