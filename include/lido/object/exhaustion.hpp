/// @file
/// Public. What a pool does when it is exhausted, beside `policy::fail`: wait, or ask the user.
#pragma once

#include <concepts>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "lido/base/nothing_to_call.hpp"
#include "lido/object/policy.hpp"

namespace lido {

namespace detail {

/// Calls a callable of the user's; see policy::on_exhausted.
template <class F>
class exhaustion_handler {
  static_assert(std::is_invocable_v<F&, const exhaustion&>,
                "lido: policy::on_exhausted<F> calls F with a const lido::exhaustion&");
  using answer = std::invoke_result_t<F&, const exhaustion&>;
  static_assert(std::is_void_v<answer> || std::same_as<answer, exhaustion_answer>,
                "lido: the callable of policy::on_exhausted returns lido::exhaustion_answer or "
                "nothing, which is exhaustion_answer::fail");

 public:
  // A pointer that nobody gave would be null, and so would be a std::function.
  exhaustion_handler() requires(std::default_initializable<F> && !may_be_nothing<F>) = default;
  /// Throws std::invalid_argument if there is nothing to call.
  // NOLINTNEXTLINE(google-explicit-constructor): a pool is given the callable itself
  explicit(false) exhaustion_handler(F callable) : callable_(std::move(callable)) {
    if (is_nothing(callable_)) {
      throw std::invalid_argument("lido: policy::on_exhausted is given nothing to call");
    }
  }

  answer on_exhausted(const exhaustion& what) { return callable_(what); }

 private:
  [[no_unique_address]] F callable_;
};

/// What a pool asks that was given nothing to ask.
template <class Policy>
Policy default_of() {
  static_assert(std::default_initializable<Policy>,
                "lido: this pool is given what it asks when it is exhausted, a function pointer, a "
                "std::function or what has no default constructor: object_pool<T, ...> "
                "pool(options, callable)");
  return Policy();
}

}  // namespace detail

namespace policy {

/// When exhausted, `acquire` waits for a slot: first come, first served among those who wait, and a
/// slot that is released is handed to whoever waits longest, in most cases without being free in
/// between. Who finds a slot without waiting may overtake: in its own cache before that is emptied,
/// or in the moment between a release and the hand-over. `acquire_for`, `acquire_until` and
/// `acquire(std::stop_token, ...)` wait no longer than they are told, but for a tenth of a second
/// while a thread stands still that is moving slots, and for one that stands still while it hands
/// a slot over. `try_acquire` never waits for a release. A wait is no cancellation point, so
/// pthread_cancel does not end it; a stop token does.
struct block {
  static constexpr bool waits = true;
};

/// When exhausted, `acquire` asks an F what to do, again and again until that ends: log, wait, free
/// something, give up. F is called with a `const exhaustion&` by all threads that find the pool
/// exhausted, at the same time, and may throw. Its object is made with the pool, or given to its
/// constructor: `object_pool<job, policy::on_exhausted<handler>> jobs{{.capacity = 8}, handler};`
/// A function pointer or a std::function has to be given; std::invalid_argument if it is null.
template <class F>
using on_exhausted = detail::exhaustion_handler<F>;

}  // namespace policy
}  // namespace lido
