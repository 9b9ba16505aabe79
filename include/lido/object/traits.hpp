/// @file
/// Public. `pool_traits<T>`: the compile-time options of an object pool.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "lido/base/named_member.hpp"
#include "lido/base/no_hooks.hpp"

namespace lido::inline v0 {

/// Hooks for a pool that keeps its objects and does nothing else to them.
struct keep {};

/// Default traits of an `object_pool<T, Traits>`. Derive from this class to change some of its
/// members.
///
/// `hooks` is a class that has any of the functions below, which may be static. A pool with hooks
/// keeps a released object for the next acquire. The pool has one `hooks` object, which is passed
/// to its constructor. All threads call this object, perhaps at the same time.
///  - `T create()` returns a new object in the state that objects have between uses. By default, an
///    object is value-initialised.
///  - `void activate(T&, args...)` is called by each acquire, with the arguments of the acquire. By
///    default, nothing is called, and an acquire takes no arguments.
///  - `void deactivate(T&)` or `bool deactivate(T&)` is called by each release. If it returns false
///    or throws, the object is destroyed, and the next acquire of the slot creates another one.
///  - `void destroy(T&) noexcept` is called before the destructor of T.
///
/// If `create` throws, the slot is free and empty. If `activate` throws, the object is destroyed
/// without a call of `deactivate`. In both cases the exception reaches the caller of the acquire.
template <class T>
struct pool_traits {
  using hooks = no_hooks;                      ///< `lido::keep` keeps objects without hooks
  static constexpr bool track_in_use = false;  ///< needs a byte per slot; for `for_each_in_use`
  static constexpr bool checked = false;       ///< detects misuse; see lido/checked.hpp
  static constexpr bool counts = false;        ///< counts cache hits, at about 0.3 ns each
};

/// Traits of a checked pool, as in `object_pool<job, checked_traits<job>>`. Needs lido/checked.hpp.
/// The pool checks every release and watches its free slots. Its destructor reports objects that
/// are still in use; see set_misuse_handler. In a free slot of more than `Watched` bytes, the pool
/// watches the first and last sixteen bytes, and a window of 32 bytes. The window moves through the
/// slot from use to use.
template <class T, std::size_t Watched = 64>
struct checked_traits : pool_traits<T> {
  /// Detects misuse.
  static constexpr bool checked = true;
  /// Number of bytes of a free slot that the pool watches.
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

/// Rejects incomplete traits by static_assert when this class is instantiated.
template <class Traits>
struct complete_traits {
  static_assert(has_hooks<Traits>,
                "lido: Traits::hooks is missing; derive Traits from lido::pool_traits<T>");
  static_assert(has_track_in_use<Traits>,
                "lido: Traits::track_in_use must be a static constexpr bool");
  static_assert(has_checked<Traits>, "lido: Traits::checked must be a static constexpr bool");
};

/// Rejects hooks that do not fit T by static_assert when this class is instantiated.
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
