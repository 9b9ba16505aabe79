/// @file
/// Internal. Whether a thread is in code of users that a pool calls.
#pragma once

#include <utility>

namespace lido::inline v0::detail {

class pool_core;  // NOLINT(cppcoreguidelines-virtual-class-destructor): final
class pool_scope;

/// The innermost one of this thread, or null.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
extern constinit thread_local const pool_scope* innermost_scope;

/// While it lives, the thread is in a task or a callback of a pool, which cannot wait for it to
/// end.
class pool_scope {
 public:
  explicit pool_scope(const pool_core& pool) noexcept
      : pool_(&pool), outer_(std::exchange(innermost_scope, this)) {}
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

 private:
  const pool_core* pool_;
  const pool_scope* outer_;
};

}  // namespace lido::inline v0::detail
