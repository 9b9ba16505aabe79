/// @file
/// Public: what a walk of a slot map calls. Internal: how it calls it.
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace lido {

/// What becomes of the value that a walk's callback was given, and of the walk. A callback that
/// returns nothing means `next`; one that returns bool means `next` by true and `stop` by false.
enum class step : std::uint8_t {
  next,           ///< go on
  stop,           ///< end the walk
  erase,          ///< erase this value, go on
  erase_and_stop  ///< erase this value, end the walk
};

namespace detail {

/// Stands for whatever a map hands to an executor.
struct any_range_body {
  void operator()(std::uint32_t first, std::uint32_t last) const;
};

}  // namespace detail

/// Calls `body(first, last)` for ranges that together are 0 to `count`, none twice, from any
/// threads, and returns when all calls have. `lido::par` in lido/tbb.hpp is one.
template <class E>
concept parallel_executor = requires(const E& executor, std::uint32_t count,
                                     const detail::any_range_body& body) {
  executor(count, body);
};

namespace detail {

[[nodiscard]] constexpr bool stops(step verdict) noexcept {
  return verdict == step::stop || verdict == step::erase_and_stop;
}
[[nodiscard]] constexpr bool erases(step verdict) noexcept {
  return verdict == step::erase || verdict == step::erase_and_stop;
}

/// Calls `f` with what it takes: the value, its handle, the map.
template <class Map, class F, class T, class HandleOf>
decltype(auto) call_visitor([[maybe_unused]] Map& map, F& f, T& value,
                            [[maybe_unused]] const HandleOf& handle_of) {
  using handle = std::invoke_result_t<const HandleOf&>;
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

/// Whether `f` may say that a value is to be erased.
template <class Map, class F>
using may_erase =
    std::is_same<decltype(call_visitor(std::declval<Map&>(), std::declval<F&>(),
                                       std::declval<typename Map::value_type&>(),
                                       std::declval<typename Map::handle_type (&)()>())),
                 step>;

/// Calls `f` and translates what comes back. Where the map is const, the walk erases nothing.
template <class Map, class F, class T, class HandleOf>
step visit_with(Map& map, F& f, T& value, const HandleOf& handle_of) {
  using result = decltype(call_visitor(map, f, value, handle_of));
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

}  // namespace detail
}  // namespace lido
