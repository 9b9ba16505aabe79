/// @file
/// Internal. Marks threads that are running user code called by a pool.
#pragma once

#include <utility>

#include "acquire_queue.hpp"

namespace lido::inline v0::detail {

class pool_core;
class pool_scope;

/// The innermost scope of this thread, or null. Resource pools have no other thread_local variable,
/// since a module that is loaded after the program has started has little space for such variables.
extern constinit thread_local const pool_scope* innermost_scope;

/// While it exists, marks its thread as running a task or a callback of a pool. Such a thread
/// cannot wait for that task or callback to end.
class pool_scope {
 public:
  explicit pool_scope(const pool_core& pool) noexcept : pool_scope(&pool, calling()) {}
  /// Marks the thread as the one that calls the callbacks in `calls`, including callbacks added
  /// while this scope exists.
  explicit pool_scope(acquire_queue& calls) noexcept : pool_scope(nullptr, &calls) {}
  pool_scope(const pool_scope&) = delete;
  pool_scope& operator=(const pool_scope&) = delete;
  ~pool_scope() { innermost_scope = outer_; }

  [[nodiscard]] static bool is_in(const pool_core& pool) noexcept {
    const pool_scope* scope = innermost_scope;
    while (scope != nullptr && scope->pool_ != &pool) {
      scope = scope->outer_;
    }
    return scope != nullptr;
  }
  /// Returns the callbacks that this thread has yet to call, or null if it is not running a
  /// callback.
  [[nodiscard]] static acquire_queue* calling() noexcept {
    return innermost_scope != nullptr ? innermost_scope->calls_ : nullptr;
  }

 private:
  pool_scope(const pool_core* pool, acquire_queue* calls) noexcept
      : pool_(pool), calls_(calls), outer_(std::exchange(innermost_scope, this)) {}

  const pool_core* pool_;
  acquire_queue* calls_;
  const pool_scope* outer_;
};

}  // namespace lido::inline v0::detail
