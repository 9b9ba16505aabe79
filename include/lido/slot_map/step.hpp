/// @file
/// Public: what a walk of a slot map calls. Internal: how it calls it.
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>

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

/// Calls and translates what comes back.
template <bool MayErase, class F, class... Args>
step call_for_step(F& f, Args&&... args) {
  using result = std::invoke_result_t<F&, Args...>;
  static_assert(MayErase || !std::is_same_v<result, step>,
                "lido: the callback of a walk that is const or parallel returns nothing or bool");
  if constexpr (std::is_void_v<result>) {
    std::invoke(f, static_cast<Args&&>(args)...);
    return step::next;
  } else if constexpr (std::is_same_v<result, bool>) {
    return std::invoke(f, static_cast<Args&&>(args)...) ? step::next : step::stop;
  } else {
    static_assert(std::is_same_v<result, step>,
                  "lido: the callback of a walk returns nothing, bool or lido::step");
    return std::invoke(f, static_cast<Args&&>(args)...);
  }
}

/// Whether `f`, called as visit_with does, may say that a value is to be erased.
template <class Map, class F, class T, class Handle>
constexpr bool returns_step() noexcept {
  if constexpr (std::is_invocable_v<F&, T&>) {
    return std::is_same_v<std::invoke_result_t<F&, T&>, step>;
  } else if constexpr (std::is_invocable_v<F&, T&, Handle>) {
    return std::is_same_v<std::invoke_result_t<F&, T&, Handle>, step>;
  } else if constexpr (std::is_invocable_v<F&, T&, Handle, Map&>) {
    return std::is_same_v<std::invoke_result_t<F&, T&, Handle, Map&>, step>;
  } else {
    return false;
  }
}

template <class Map, class F>
using may_erase =
    std::bool_constant<returns_step<Map, std::remove_reference_t<F>, typename Map::value_type,
                                    typename Map::handle_type>()>;

/// Calls `f` with what it takes: the value, its handle, the map. Where the map is const, the walk
/// erases nothing.
template <class Map, class F, class T, class HandleOf>
step visit_with(Map& map, F& f, T& value, HandleOf handle_of) {
  if constexpr (std::is_invocable_v<F&, T&>) {
    return call_for_step<!std::is_const_v<Map>>(f, value);
  } else if constexpr (std::is_invocable_v<F&, T&, decltype(handle_of())>) {
    return call_for_step<!std::is_const_v<Map>>(f, value, handle_of());
  } else {
    static_assert(std::is_invocable_v<F&, T&, decltype(handle_of()), Map&>,
                  "lido: the callback of a walk takes (T&), (T&, handle) or (T&, handle, map&)");
    return call_for_step<!std::is_const_v<Map>>(f, value, handle_of(), map);
  }
}

}  // namespace detail
}  // namespace lido
