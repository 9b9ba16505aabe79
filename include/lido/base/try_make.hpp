/// @file
/// Public. `try_make` and `problem_with`: pools whose making may fail without an exception.
#pragma once

#include <algorithm>
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

/// Returns true if the system has `bytes` bytes at this moment.
[[nodiscard]] bool has_memory(std::size_t bytes) noexcept;
/// Returns true if the system has `bytes` bytes of addresses at this moment.
[[nodiscard]] bool has_addresses(std::size_t bytes) noexcept;

/// Allocates memory from a source of the program before `try_make` makes the pool, in a program
/// without exceptions. The pool then takes this memory, and later gives it back to the source.
class tried_memory final : public memory_source {
 public:
  /// `source` may be null.
  explicit tried_memory(memory_source* source) noexcept { origin_ = source; }
  tried_memory(const tried_memory&) = delete;
  tried_memory& operator=(const tried_memory&) = delete;
  ~tried_memory() { give_back(); }

  /// Allocates `bytes` bytes if the source does not know how many it has; otherwise the options
  /// have already been compared with that number. Returns false if the source has too few.
  /// Requires: `available` has been called with the alignment.
  [[nodiscard]] bool try_allocate(std::size_t bytes) noexcept;
  /// Gives memory back that no pool has taken.
  void give_back() noexcept;
  /// Returns true if there is memory that no pool has taken.
  [[nodiscard]] bool has_memory() const noexcept { return data_ != nullptr; }

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept override;
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override;
  [[nodiscard]] std::size_t available(std::size_t alignment) const noexcept override;
  [[nodiscard]] bool can_grow() const noexcept override;

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  mutable std::size_t alignment_ = 1;  ///< argument of the last call of `available`
};

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

  /// Returns how many bytes of addresses a pool reserves so that it can grow.
  template <class Pool>
  [[nodiscard]] static std::size_t bytes_reserved(
      [[maybe_unused]] const typename Pool::options_type& options) noexcept {
    if constexpr (requires { options.max_capacity; }) {
      return options.max_capacity == 0 ? 0 : Pool::bytes_needed(options);
    } else {
      return 0;
    }
  }

  /// Returns the problem of a pool for which there is no memory.
  template <class Pool>
  [[nodiscard]] static option_problem no_memory_for(
      const typename Pool::options_type& options) noexcept {
    const std::size_t bytes =
        (std::max)(bytes_at_start<Pool>(options), bytes_reserved<Pool>(options));
    return {option_problem::kind::memory,
            {"there is no memory for the pool, which needs ", digits(bytes).view(), " bytes"}};
  }

  /// Returns true if there is memory for a pool. If `tried` has allocated it, lets `options` refer
  /// to `tried`. Requires: `options` have no problem.
  template <class Pool>
  [[nodiscard]] static bool find_memory(typename Pool::options_type& options,
                                        tried_memory& tried) noexcept {
    const std::size_t bytes = bytes_at_start<Pool>(options);
    if (options.memory == nullptr) {
      return has_memory(bytes) && has_addresses(bytes_reserved<Pool>(options));
    }
    memory_source* const source = std::exchange(options.memory, &tried);
    (void)Pool::find_problem(options);  // calls `available`
    const bool found = tried.try_allocate(bytes);
    if constexpr (requires { options.shrink_threshold; }) {
      tried.give_back();  // a slot_map allocates each of its arrays by itself
    }
    if (!tried.has_memory()) {
      options.memory = source;
    }
    return found;
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
/// option is wrong, the result says so. A std::bad_alloc of the hooks counts as missing memory.
/// Other exceptions of the hooks, and of the source in `options.memory`, pass through.
///
/// The pool object itself always comes from `operator new`. A program that must not call it calls
/// `problem_with`, and then constructs the pool in memory of its own.
///
/// In a program without exceptions, this first finds out whether there is memory. It allocates what
/// the pool needs at the start, and reserves the addresses of a pool that grows, but gives both
/// back. If other threads take that memory before the pool does, the program ends.
///
/// There is no such gap in memory of a source, except for a slot_map whose source does not know how
/// much memory it has. If Lido is itself built without exceptions, a source that throws ends the
/// program.
template <class Pool, class... Hooks>
[[nodiscard]] made_pool<Pool> try_make(const typename Pool::options_type& options,
                                       Hooks&&... hooks) {
  made_pool<Pool> made{nullptr, problem_with<Pool>(options)};
  if (made.problem) {
    return made;
  }
  const auto no_memory = [&] { return detail::pool_maker::no_memory_for<Pool>(options); };
#if defined(__cpp_exceptions)
  const auto& used = options;
#else
  auto used = options;
  detail::tried_memory tried(options.memory);
  if (!detail::pool_maker::find_memory<Pool>(used, tried)) {
    made.problem = no_memory();
    return made;
  }
#endif
  const auto make = [&] {
    made.pool.reset(new (std::nothrow) Pool(used, std::forward<Hooks>(hooks)...));
    return made.pool != nullptr;
  };
  const auto refuse = [](const auto& /*error*/) { return false; };
  const bool is_made = detail::attempt_except<std::bad_alloc>(
      [&] { return detail::attempt_except<growth_failed>(make, refuse); }, refuse);
  if (!is_made) {
    made.problem = no_memory();
  }
  return made;
}

}  // namespace lido::inline v0
