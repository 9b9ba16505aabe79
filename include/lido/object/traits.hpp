/// @file
/// Public. `pool_traits<T>`: the choices about an object pool at compile time.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "lido/base/named_member.hpp"
#include "lido/base/no_hooks.hpp"

namespace lido::inline v0 {

/// Hooks of a pool that keeps its objects and does nothing else to them.
struct keep {};

/// Traits of an `object_pool<T, Traits>`; derive from it to change one.
///
/// `hooks` is a class with any of these functions, static or not. A pool with hooks keeps a
/// released object for the next acquire. It has one `hooks` object, given to its constructor, and
/// calls it from all threads, perhaps at once:
///  - `T create()` returns a new object, as it is between uses. Default: a value-initialised one.
///  - `void activate(T&, args...)` is called at each acquire, with its arguments. Default: nothing,
///    and an acquire takes no arguments.
///  - `void` or `bool deactivate(T&)` is called at each release. False, or an exception, refuses
///    the object: it is destroyed, and the next acquire of the slot makes another.
///  - `void destroy(T&) noexcept` is called before the destructor.
///
/// If `create` throws, the slot is free and empty. If `activate` throws, the object is destroyed
/// without `deactivate`. Either error reaches the caller of the acquire.
template <class T>
struct pool_traits {
  using hooks = no_hooks;                      ///< `lido::keep` keeps objects without hooks
  static constexpr bool track_in_use = false;  ///< a byte per slot, for `for_each_in_use`
  static constexpr bool checked = false;       ///< finds misuse; see lido/checked.hpp
  static constexpr bool counts = false;        ///< counts hits, at about 0.3 ns each
};

/// Traits of a checked pool: `object_pool<job, checked_traits<job>>`, with lido/checked.hpp. Every
/// release is checked, free slots are watched, and the pool's destructor reports what is still in
/// use; see set_misuse_handler. In a free slot of more than `Watched` bytes the first and last
/// sixteen are watched, and a window of 32 that moves through the slot from use to use.
template <class T, std::size_t Watched = 64>
struct checked_traits : pool_traits<T> {
  static constexpr bool checked = true;
  static constexpr std::size_t watched_bytes = Watched;
};

namespace detail {

template <class Hooks>
concept hook_class = std::is_class_v<Hooks> && !std::is_final_v<Hooks>;

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

template <class Traits>
concept has_hooks = requires {
  typename Traits::hooks;
};
template <class Traits>
concept has_track_in_use = requires {
  typename std::bool_constant<Traits::track_in_use>;
};
template <class Traits>
concept has_checked = requires {
  typename std::bool_constant<Traits::checked>;
};

/// Refuses to be instantiated for traits that are incomplete.
template <class Traits>
struct complete_traits {
  static_assert(has_hooks<Traits>,
                "lido: Traits::hooks is missing; derive Traits from lido::pool_traits<T>");
  static_assert(has_track_in_use<Traits>,
                "lido: Traits::track_in_use must be a static constexpr bool");
  static_assert(has_checked<Traits>, "lido: Traits::checked must be a static constexpr bool");
};

/// Refuses to be instantiated for hooks that do not fit T.
template <class T, class Hooks>
struct fitting_hooks {
  static_assert(hook_class<Hooks>, "lido: Traits::hooks must be a class that is not final");
  static_assert(std::same_as<Hooks, keep> || names_a_hook<Hooks>,
                "lido: Traits::hooks has none of create, activate, deactivate and destroy");
  static_assert(names_create<Hooks> || std::is_default_constructible_v<T>,
                "lido: Traits::hooks needs a create() that returns a T, which has no default "
                "constructor");
  static_assert(!names_create<Hooks> || creating_hooks<Hooks, T>,
                "lido: Traits::hooks::create() must take nothing and return a T");
  static_assert(!names_deactivate<Hooks> || always_deactivating_hooks<Hooks, T> ||
                    refusing_hooks<Hooks, T>,
                "lido: Traits::hooks::deactivate(T&) must return void, or bool: false refuses the "
                "object");
  static_assert(!names_destroy<Hooks> || destroying_hooks<Hooks, T>,
                "lido: Traits::hooks::destroy(T&) must return void and be noexcept, since release "
                "is");
};

}  // namespace detail
}  // namespace lido::inline v0
