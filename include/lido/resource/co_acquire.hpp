/// @file
/// Internal. Callbacks and coroutines that wait for a resource.
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lido/concurrency/atomic.hpp"
#include "lido/resource/factory.hpp"
#include "lido/resource/lease.hpp"

namespace lido::inline v0::detail {

/// A coroutine of this type has no result. Clang has no `decltype(co_await ...)`.
template <class Coroutine, class... Arguments>
concept returns_nothing =
    requires(typename std::coroutine_traits<Coroutine, Arguments...>::promise_type& promise) {
  promise.return_void();
};

/// Of a user's callback. Throws std::bad_alloc, or std::invalid_argument if `done` is null.
template <class R, class Done>
[[nodiscard]] acquire_completion completion_of(std::string_view pool, Done done) {
  static_assert(std::is_invocable_v<Done&, acquire_result<R>>,
                "lido: the callback of async_acquire is called with an acquire_result<R>");
  refuse_nothing(pool, "the callback", done);
  return acquire_completion([call = std::move(done)](acquire_outcome outcome) mutable {
    call(acquire_result<R>(std::move(outcome)));
  });
}

/// Has a part of the source, which may otherwise go while it is stopping.
struct stop_request {
  std::stop_source source;
  void operator()() const noexcept {
    std::stop_source kept = source;  // some libraries ask only what is not const
    (void)kept.request_stop();
  }
};

/// One of two threads comes first, whichever it is, and leaves; what it did before, the second one
/// sees. Progress: wait-free.
class meeting {
 public:
  /// Once by each of the two.
  [[nodiscard]] bool comes_second() noexcept {
    // (1) - this acq_rel-exchange synchronizes-with the acq_rel-exchange (1) of the first
    return one_came_.exchange(true, std::memory_order_acq_rel);
  }

 private:
  atomic<bool> one_came_{false};
};

/// Where the callback of a coroutine finds what it is for. The second of the callback and the
/// thread that is about to suspend the coroutine goes on with it.
struct coroutine_line {
  atomic<acquire_outcome*> result;  ///< null once the coroutine is gone
  meeting both;
};

/// Of a pool without keys.
struct no_key {};

/// What `co_await` takes of an acquire; `Result` is a lease, or an acquire_result. `Key` owns a key
/// that is sought.
///
/// The coroutine goes on in the thread that ends the wait, or in its own if that ends before it is
/// suspended. It may be destroyed while it waits, but not beside that thread: what it would have
/// been given goes back.
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
  ~acquire_awaiter() {
    // relaxed: what a callback finds here it does not touch
    if (line_ != nullptr && line_->result.exchange(nullptr, std::memory_order_relaxed) != nullptr) {
      (void)end_.request_stop();  // others come sooner
    }
  }

  [[nodiscard]] bool await_ready() noexcept {
    if (!has_key && !request_.stop.stop_requested()) {
      outcome_.grant = core_.try_acquire_fast(request_.at);
    }
    return outcome_.grant.slot != nullptr;
  }
  bool await_suspend(std::coroutine_handle<> coroutine) {
    auto line = std::make_shared<coroutine_line>();
    // relaxed: no other thread knows it
    line->result.store(&outcome_, std::memory_order_relaxed);
    end_ = std::stop_source();
    on_stop_.emplace(request_.stop, stop_request{end_});
    request_.stop = end_.get_token();
    line_ = line;  // the awaiter may be gone below
    core_.acquire_async(
        request_, acquire_completion([line, coroutine](acquire_outcome outcome) noexcept {
          // relaxed: the awaiter was there before the callback
          acquire_outcome* const result = line->result.exchange(nullptr, std::memory_order_relaxed);
          if (result == nullptr) {  // the coroutine is gone
            (void)acquire_result<R>(std::move(outcome));
            return;
          }
          *result = std::move(outcome);
          if (line->both.comes_second()) {
            coroutine.resume();
          }
        }));
    return !line->both.comes_second();
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
  std::shared_ptr<coroutine_line> line_;
  std::stop_source end_{std::nostopstate};
  std::optional<std::stop_callback<stop_request>> on_stop_;
};

}  // namespace lido::inline v0::detail
