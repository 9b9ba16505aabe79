/// @file
/// Public. `try_make` and `problem_with`: pools whose making may fail without an exception.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "lido/base/error.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/memory_source.hpp"
#include "lido/base/option_problem.hpp"

namespace lido::inline v0 {

/// Result of `try_make`: a pool, or the reason why there is none.
template <class Pool>
struct made_pool {
  std::unique_ptr<Pool> pool;  ///< null if there is a problem
  /// Reason why there is no pool.
  option_problem problem;

  /// Returns true if there is a pool.
  [[nodiscard]] explicit operator bool() const noexcept { return pool != nullptr; }
};

namespace detail {

/// Returns true if `source`, or the system if `source` is null, has `bytes` bytes at this moment.
[[nodiscard]] bool has_memory(memory_source* source, std::size_t bytes) noexcept;

/// Has access to the checks of all pools.
struct pool_maker {
  template <class Pool>
  [[nodiscard]] static option_problem find_problem(
      const typename Pool::options_type& options) noexcept {
    return Pool::find_problem(options);
  }

  /// Returns how many bytes a pool needs at the start.
  template <class Pool>
  [[nodiscard]] static std::size_t bytes_at_start(typename Pool::options_type options) noexcept {
    if constexpr (requires { options.max_capacity; }) {
      options.capacity += options.capacity == 0 ? 1 : 0;
      options.when_full = decltype(options.when_full)::fail;
      options.max_capacity = 0;
    }
    return Pool::bytes_needed(options);
  }
};

}  // namespace detail

/// Returns the first problem for which the constructor of `Pool` would reject `options`, or no
/// problem. Also finds out whether `options.memory` has enough bytes. Allocates nothing, and never
/// throws. `Pool` is an object_pool, a slot_map, a concurrent_slot_map or a block_resource.
template <class Pool>
[[nodiscard]] option_problem problem_with(const typename Pool::options_type& options) noexcept {
  return detail::pool_maker::find_problem<Pool>(options);
}

/// Makes a pool from `options` and, if its type needs them, `hooks`. If there is no memory, or an
/// option is wrong, the result says so. Throws whatever the hooks throw.
///
/// In a program without exceptions, this first asks for the memory that the pool needs at the
/// start, and gives it back. If other threads take that memory before the pool does, the program
/// ends.
template <class Pool, class... Hooks>
[[nodiscard]] made_pool<Pool> try_make(const typename Pool::options_type& options,
                                       Hooks&&... hooks) {
  made_pool<Pool> made{nullptr, problem_with<Pool>(options)};
  if (made.problem) {
    return made;
  }
  const option_problem no_memory(option_problem::kind::memory, {"there is no memory for the pool"});
#if !defined(__cpp_exceptions)
  if (!detail::has_memory(options.memory, detail::pool_maker::bytes_at_start<Pool>(options))) {
    made.problem = no_memory;
    return made;
  }
#endif
  const auto make = [&] {
    made.pool.reset(new (std::nothrow) Pool(options, std::forward<Hooks>(hooks)...));
    return made.pool != nullptr;
  };
  const auto refuse = [](const auto& /*error*/) { return false; };
  const bool is_made = detail::attempt_except<std::bad_alloc>(
      [&] { return detail::attempt_except<growth_failed>(make, refuse); }, refuse);
  if (!is_made) {
    made.problem = no_memory;
  }
  return made;
}

}  // namespace lido::inline v0
