/// @file
/// Public: what users pass to slot maps: callbacks of walks, executors, hooks. Internal: how maps
/// call them, and what they require of hooks and values.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

#include "lido/base/named_member.hpp"
#include "lido/base/no_hooks.hpp"
#include "lido/object/traits.hpp"
#include "lido/slot_map/slot_handle.hpp"

namespace lido::inline v0 {

/// A walk callback's verdict on the current value and on the walk. If a callback returns void, that
/// means `next`. If it returns bool, true means `next` and false means `stop`.
enum class step : std::uint8_t {
  next,           ///< continue
  stop,           ///< end the walk
  erase,          ///< erase this value and continue
  erase_and_stop  ///< erase this value and end the walk
};

/// An executor that calls `body(first, last)` for disjoint ranges that together cover 0 to `count`.
/// It may call `body` from any thread, and returns once all calls have returned. `lido::par` in
/// lido/tbb.hpp is such an executor.
template <class E>
concept parallel_executor = requires(const E& executor, std::uint32_t count,
                                     void (*body)(std::uint32_t, std::uint32_t)) {
  executor(count, body);
};

namespace detail {

/// A range that can be read more than once and refers to values of type T that exist, such as a
/// map, the `values` of its snapshot, or an array.
template <class Range, class T>
concept refers_to = requires(Range& range) {
  requires std::is_convertible_v<
      typename std::iterator_traits<decltype(std::begin(range))>::iterator_category,
      std::forward_iterator_tag>;
  requires std::is_reference_v<decltype(*std::begin(range))>;
  requires std::is_same_v<std::remove_cvref_t<decltype(*std::begin(range))>, T>;
  std::end(range);
};

[[nodiscard]] constexpr bool stops(step verdict) noexcept {
  return verdict == step::stop || verdict == step::erase_and_stop;
}
[[nodiscard]] constexpr bool erases(step verdict) noexcept {
  return verdict == step::erase || verdict == step::erase_and_stop;
}

/// Calls `f` with the value and, if `f` accepts them, with the value's handle and the map.
template <class Map, class F, class T, class HandleOf>
decltype(auto) call_visitor([[maybe_unused]] Map& map, F& f, T& value,
                            [[maybe_unused]] const HandleOf& handle_of) {
  using handle = typename Map::handle_type;
  if constexpr (std::is_invocable_v<F&, T&>) {
    return std::invoke(f, value);
  } else if constexpr (std::is_invocable_v<F&, T&, handle>) {
    return std::invoke(f, value, handle_of());
  } else {
    static_assert(std::is_invocable_v<F&, T&, handle, Map&>,
                  "lido: the callback of a walk takes (T&), (T&, handle) or (T&, handle, map&)");
    return std::invoke(f, value, handle_of(), map);
  }
}

/// The return type of `f` when `call_visitor` calls it.
template <class Map, class F, class T>
using visitor_result =
    decltype(call_visitor(std::declval<Map&>(), std::declval<F&>(), std::declval<T&>(),
                          std::declval<typename Map::handle_type (&)()>()));

/// Calls `f` and converts its result to a `step`. If the map is const, `f` cannot return a `step`,
/// so the walk erases nothing.
template <class Map, class F, class T, class HandleOf>
step visit_with(Map& map, F& f, T& value, const HandleOf& handle_of) {
  using result = visitor_result<Map, F, T>;
  static_assert(!std::is_const_v<Map> || !std::is_same_v<result, step>,
                "lido: the callback of a walk that is const or parallel returns nothing or bool");
  if constexpr (std::is_void_v<result>) {
    call_visitor(map, f, value, handle_of);
    return step::next;
  } else if constexpr (std::is_same_v<result, bool>) {
    return call_visitor(map, f, value, handle_of) ? step::next : step::stop;
  } else {
    static_assert(std::is_same_v<result, step>,
                  "lido: the callback of a walk returns nothing, bool or lido::step");
    return call_visitor(map, f, value, handle_of);
  }
}

// The hooks of a slot map may be any class that has one or more of these functions.
//
//     void on_insert(T& value, slot_handle<T> handle);           // value has been constructed
//     void on_erase(T& value, slot_handle<T> handle) noexcept;   // value is about to be destroyed
//     void on_move(T& value, slot_handle<T> handle) noexcept;    // value now has another address
//
// If on_insert throws, the insertion is undone, and on_erase is not called for that value. A hook
// must not change the map. No hook is called for the values that a map still holds when it is
// destroyed.

template <class Hooks, class T>
concept fitting_on_insert = requires(Hooks& hooks, T& value, slot_handle<T> handle) {
  { hooks.on_insert(value, handle) } -> std::same_as<void>;
};
template <class Hooks, class T>
concept fitting_on_erase = requires(Hooks& hooks, T& value, slot_handle<T> handle) {
  { hooks.on_erase(value, handle) }
  noexcept->std::same_as<void>;
};
template <class Hooks, class T>
concept fitting_on_move = requires(Hooks& hooks, T& value, slot_handle<T> handle) {
  { hooks.on_move(value, handle) }
  noexcept->std::same_as<void>;
};

/// The last generation of a slot in a map with `Hooks`, unless the map's handles allow fewer
/// generations. Tests specialise this.
template <class Hooks>
inline constexpr std::uint64_t last_generation_with = ~std::uint64_t{0};

/// Rejects, by static_assert, a T or Hooks that does not fit a slot map. The constructor of a map
/// instantiates this class, so T may be incomplete where the type of a map is only named. Hence T
/// may have maps of T as members.
template <class T, class Hooks>
struct fitting_map {
  static_assert(std::is_nothrow_destructible_v<T>, "lido: erase is noexcept, so ~T must be, too");
  static_assert(hook_class<Hooks>, "lido: the Hooks of a slot map are a class, which is not final");
  static_assert(std::same_as<Hooks, no_hooks> || names_on_insert<Hooks> || names_on_erase<Hooks> ||
                    names_on_move<Hooks>,
                "lido: Hooks has none of on_insert, on_erase and on_move");
  static_assert(!names_on_insert<Hooks> || fitting_on_insert<Hooks, T>,
                "lido: on_insert must take (T&, slot_handle<T>) and return void");
  static_assert(!names_on_erase<Hooks> || fitting_on_erase<Hooks, T>,
                "lido: on_erase must take (T&, slot_handle<T>), return void and be noexcept, since "
                "erase is");
  static_assert(!names_on_move<Hooks> || fitting_on_move<Hooks, T>,
                "lido: on_move must take (T&, slot_handle<T>), return void and be noexcept, since "
                "it is told of what has happened");
};

}  // namespace detail
}  // namespace lido::inline v0
