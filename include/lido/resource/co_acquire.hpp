/// @file
/// Internal. Callbacks and coroutines that wait for a resource.
#pragma once

#include <coroutine>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lido/concurrency/coroutine_wait.hpp"
#include "lido/resource/factory.hpp"
#include "lido/resource/lease.hpp"

namespace lido::inline v0::detail {

/// Satisfied by coroutine types without a result. Checks the promise type, since Clang does not
/// support `decltype(co_await ...)`.
template <class Coroutine, class... Arguments>
concept returns_nothing =
    requires(typename std::coroutine_traits<Coroutine, Arguments...>::promise_type& promise) {
  promise.return_void();
};

/// Wraps a user's callback. Throws std::bad_alloc, or std::invalid_argument if `done` is null.
template <class R, class Done>
[[nodiscard]] acquire_completion completion_of(std::string_view pool, Done done) {
  static_assert(std::is_invocable_v<Done&, acquire_result<R>>,
                "lido: the callback of async_acquire is called with an acquire_result<R>");
  refuse_nothing(pool, "the callback", done);
  return acquire_completion([call = std::move(done)](acquire_outcome outcome) mutable {
    call(acquire_result<R>(std::move(outcome)));
  });
}

extern template class coroutine_wait<acquire_outcome>;

/// The key of an awaiter in a pool without keys.
struct no_key {};

/// The awaiter of an acquire. `Result` is a lease or an acquire_result. `Key` is a type that owns
/// the key to look up.
///
/// The coroutine resumes in the thread that ends the wait. If the wait ends before the coroutine is
/// suspended, the coroutine continues in its own thread. The coroutine may be destroyed while it
/// waits, but not while another thread is ending the wait. If the coroutine is destroyed, the
/// resource meant for it goes back to the pool.
template <class R, class Result, class Key = no_key>
class acquire_awaiter {
 public:
  template <class... Argument>
  acquire_awaiter(pool_core& core, acquire_call request, Argument&&... of_key)
      : core_(core), request_(std::move(request)), key_(std::forward<Argument>(of_key)...) {
    if constexpr (has_key) {
      request_.key = &key_.sought_value;
    }
  }
  acquire_awaiter(const acquire_awaiter&) = delete;
  acquire_awaiter& operator=(const acquire_awaiter&) = delete;
  ~acquire_awaiter() = default;

  [[nodiscard]] bool await_ready() noexcept {
    if (!has_key && !request_.stop.stop_requested()) {
      outcome_.grant = core_.try_acquire_last(request_.at);
    }
    return outcome_.grant.slot != nullptr;
  }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> coroutine) {
    return wait_.begin(request_.stop, outcome_, coroutine,
                       [this](acquire_completion done, std::stop_token stop) {
                         request_.stop = std::move(stop);
                         core_.acquire_async(request_, std::move(done));
                       });
  }
  [[nodiscard]] Result await_resume() {
    acquire_result<R> result(std::move(outcome_));
    if constexpr (std::is_same_v<Result, acquire_result<R>>) {
      return result;
    } else {
      return std::move(result).value();
    }
  }

 private:
  static constexpr bool has_key = !std::is_same_v<Key, no_key>;

  pool_core& core_;
  acquire_call request_;
  Key key_;
  acquire_outcome outcome_;
  coroutine_wait<acquire_outcome> wait_;
};

}  // namespace lido::inline v0::detail
