/// @file
/// Public. The acquire functions of `object_pool` that block no thread.
#pragma once

#include <utility>

#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

/// Implements these functions; see lido/object/async_acquire.hpp.
template <class Pool>
struct async_waits;
template <class Pool>
concept has_async_waits = requires {
  sizeof(async_waits<Pool>);
};

/// The base class of a Pool. Costs little to include; users of its functions include
/// lido/co_acquire.hpp.
template <class Pool>
class async_forms {
 public:
  /// Returns an awaiter that acquires as `acquire` does. Needs lido/co_acquire.hpp. If the pool is
  /// exhausted, the coroutine waits for a slot in the same queue as threads, whatever `when_full`
  /// is. `args` may begin with a duration, a std::stop_token, or both in this order. These limit
  /// the wait: if it ends first, `co_await` returns an empty lease. Other arguments that are
  /// lvalues must live until the wait has ended, and so must the pool. Throws std::bad_alloc before
  /// the wait begins.
  ///
  /// The thread that ends the wait constructs the object and resumes the coroutine, under the same
  /// rules as for the callback of `async_acquire`. The coroutine may be destroyed while it waits,
  /// but only if no other thread can end the wait at that moment.
  template <class... Args>
  [[nodiscard, LIDO_ALWAYS_INLINE]] auto co_acquire(Args&&... args) {
    static_assert(has_async_waits<Pool>, "lido: co_acquire needs #include \"lido/co_acquire.hpp\"");
    using waits = async_waits<Pool>;
    return waits::co_acquire(static_cast<Pool&>(*this), waits::code_address::here(),
                             std::forward<Args>(args)...);
  }

  /// Acquires for a callback as `co_acquire` does for a coroutine. Needs lido/co_acquire.hpp. Calls
  /// `done(lease_type)` exactly once. If a slot is free, this function itself calls `done`: a chain
  /// in which `done` begins the next acquire is then a recursion. Use `co_acquire` or a loop for
  /// such chains. Throws std::bad_alloc, or std::invalid_argument if `done` is null. If it throws,
  /// it does not call `done`.
  ///
  /// The thread that ends the wait constructs the object and calls `done`, while Lido holds no
  /// lock. It may be any thread that uses the pool: one that releases, acquires, begins a wait,
  /// calls `reserve` or `shrink_to`, or destroys a waiting coroutine. It may also be a thread that
  /// requests a stop, or one that keeps time for the pools of the process.
  ///
  /// Requires: `done` does not throw, does not switch fibers, and ends in the thread in which it
  /// began. It locks no mutex that such a thread may hold. The pool lives until `done` is called.
  template <class Done, class... Args>
  [[LIDO_ALWAYS_INLINE]] void async_acquire(Done done, Args&&... args) {
    static_assert(has_async_waits<Pool>,
                  "lido: async_acquire needs #include \"lido/co_acquire.hpp\"");
    using waits = async_waits<Pool>;
    waits::async_acquire(static_cast<Pool&>(*this), waits::code_address::here(), std::move(done),
                         std::forward<Args>(args)...);
  }

  async_forms(const async_forms&) = delete;
  async_forms& operator=(const async_forms&) = delete;

 protected:
  async_forms() noexcept = default;
  ~async_forms() = default;
};

}  // namespace lido::inline v0::detail
