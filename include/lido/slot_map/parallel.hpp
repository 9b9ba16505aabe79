/// @file
/// Public. What a slot map asks of an executor for walks on several threads.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace lido {

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

/// Calls `f(value)`, or `f(value, handle)` if that is what it takes. False: it wants to stop.
template <class F, class... Args>
bool call_to_go_on(F& f, Args&&... args) {
  using result = std::invoke_result_t<F&, Args...>;
  static_assert(std::is_void_v<result> || std::is_same_v<result, bool>,
                "lido: the callback of a parallel walk of a slot_map returns nothing or bool: it "
                "cannot erase");
  if constexpr (std::is_void_v<result>) {
    std::invoke(f, static_cast<Args&&>(args)...);
    return true;
  } else {
    return std::invoke(f, static_cast<Args&&>(args)...);
  }
}

template <class F, class T, class HandleOf>
bool call_in_parallel(F& f, T& value, HandleOf handle_of) {
  if constexpr (std::is_invocable_v<F&, T&>) {
    return call_to_go_on(f, value);
  } else {
    static_assert(std::is_invocable_v<F&, T&, decltype(handle_of())>,
                  "lido: the callback of a walk takes (T&) or (T&, handle)");
    return call_to_go_on(f, value, handle_of());
  }
}

/// Visits the places with values from `first` to before `last`, until `visit(place)` says false.
template <class Store, class Visit>
void walk_range(Store& store, std::uint32_t first, std::uint32_t last, const Visit& visit) {
  std::uint32_t place = store.next_value(first);
  while (place < last && visit(place)) {
    place = store.next_value(place + 1);
  }
}

}  // namespace detail
}  // namespace lido
