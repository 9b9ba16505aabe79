/// @file
/// Internal. Callbacks and coroutines that wait for a resource.
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/meeting.hpp"
#include "lido/resource/lease.hpp"

namespace lido::detail {

/// A coroutine of this type has no result. Clang has no `decltype(co_await ...)`.
template <class Coroutine, class... Arguments>
concept returns_nothing =
    requires(typename std::coroutine_traits<Coroutine, Arguments...>::promise_type& promise) {
  promise.return_void();
};

/// A callback of a user, called with an `acquire_result<R>`.
template <class R, class Done>
[[nodiscard]] acquire_completion completion_of(Done done) {
  return acquire_completion([done = std::move(done)](acquire_outcome outcome) mutable {
    done(acquire_result<R>(std::move(outcome)));
  });
}

/// Where the callback of a coroutine finds what it is for. The second of the callback and the
/// thread that is about to suspend the coroutine goes on with it.
struct coroutine_line {
  std::coroutine_handle<> coroutine;
  atomic<acquire_outcome*> result;  ///< null once the coroutine is gone
  meeting both;

  void complete(acquire_outcome outcome) noexcept {
    // relaxed: the awaiter was there before the callback
    acquire_outcome* const to = result.exchange(nullptr, std::memory_order_relaxed);
    if (to == nullptr) {
      if (outcome.grant.slot != nullptr) {
        outcome.grant.slot->record.cache->release(outcome.grant);
      }
      return;
    }
    *to = std::move(outcome);
    if (both.comes_second()) {
      coroutine.resume();
    }
  }
};

/// What `co_await` takes of an acquire; `Result` is a lease, or an acquire_result.
///
/// The coroutine goes on in the thread that ends the wait, or in its own if that ends before it is
/// suspended. It may be destroyed while it waits, but not beside that thread: what it would have
/// been given goes back.
template <class R, class Result>
class acquire_awaiter {
 public:
  acquire_awaiter(pool_core& core, acquire_call request) noexcept
      : core_(core), request_(std::move(request)) {}
  acquire_awaiter(const acquire_awaiter&) = delete;
  acquire_awaiter& operator=(const acquire_awaiter&) = delete;
  ~acquire_awaiter() {
    // relaxed: what a callback finds here it does not touch
    if (line_ != nullptr && line_->result.exchange(nullptr, std::memory_order_relaxed) != nullptr) {
      (void)end_.request_stop();  // others come sooner
    }
  }

  [[nodiscard]] bool await_ready() noexcept {
    if (request_.group.find == nullptr && !request_.stop.stop_requested()) {
      outcome_.grant = core_.try_acquire_fast(request_.at);
    }
    return outcome_.grant.slot != nullptr;
  }
  bool await_suspend(std::coroutine_handle<> coroutine) {
    return suspend(coroutine, [] {});
  }
  [[nodiscard]] Result await_resume() {
    acquire_result<R> result(std::move(outcome_));
    if constexpr (std::is_same_v<Result, acquire_result<R>>) {
      return result;
    } else {
      return std::move(result).value();
    }
  }

 protected:
  void set_group(const group_finder& group) noexcept { request_.group = group; }
  /// `add_key()` makes the key known, if it is not.
  template <class AddKey>
  bool suspend(std::coroutine_handle<> coroutine, const AddKey& add_key) {
    auto line = std::make_shared<coroutine_line>();
    line->coroutine = coroutine;
    // relaxed: no other thread knows it
    line->result.store(&outcome_, std::memory_order_relaxed);
    end_ = std::stop_source();
    on_stop_.emplace(request_.stop, stopper{end_});
    request_.stop = end_.get_token();
    line_ = line;  // the awaiter may be gone below
    acquire_completion done(
        [line](acquire_outcome outcome) noexcept { line->complete(std::move(outcome)); });
    while (!core_.acquire_async(request_, done)) {
      add_key();
    }
    return !line->both.comes_second();
  }

 private:
  /// Has a part of the source, which may otherwise go while it is stopping.
  struct stopper {
    std::stop_source end;
    void operator()() const noexcept {
      const std::stop_source kept = end;
      (void)kept.request_stop();
    }
  };

  pool_core& core_;
  acquire_call request_;
  acquire_outcome outcome_;
  std::shared_ptr<coroutine_line> line_;
  std::stop_source end_{std::nostopstate};
  std::optional<std::stop_callback<stopper>> on_stop_;
};

}  // namespace lido::detail
