/// @file
/// Public. What a slot map asks of an executor for walks on several threads.
#pragma once

#include <concepts>
#include <cstdint>
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

/// Calls `f(value)`, or `f(value, handle)` if that is what it takes.
template <class F, class T, class HandleOf>
void call_in_parallel(F& f, T& value, HandleOf handle_of) {
  if constexpr (std::is_invocable_v<F&, T&>) {
    f(value);
  } else {
    static_assert(std::is_invocable_v<F&, T&, decltype(handle_of())>,
                  "lido: the callback of a walk takes (T&) or (T&, handle)");
    f(value, handle_of());
  }
}

}  // namespace detail
}  // namespace lido
