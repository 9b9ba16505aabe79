/// @file
/// Internal. Callbacks and coroutines that wait for a resource.
#pragma once

#include <coroutine>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

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

struct coroutine_line;

/// The wait of a coroutine. If the coroutine is destroyed before the wait ends, the resource meant
/// for the coroutine goes back to the pool.
class coroutine_wait {
 public:
  coroutine_wait() noexcept = default;
  coroutine_wait(const coroutine_wait&) = delete;
  coroutine_wait& operator=(const coroutine_wait&) = delete;
  ~coroutine_wait();

  /// Begins an acquire. When the wait ends, writes the result to `outcome`, and resumes the
  /// coroutine if it was suspended. Returns false if the coroutine need not be suspended. Throws
  /// whatever `acquire_async` throws.
  [[nodiscard]] bool begin(pool_core& core, acquire_call& call, acquire_outcome& outcome,
                           std::coroutine_handle<> coroutine);

 private:
  std::shared_ptr<coroutine_line> line_;
};

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
    return wait_.begin(core_, request_, outcome_, coroutine);
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
  coroutine_wait wait_;
};

}  // namespace lido::inline v0::detail
