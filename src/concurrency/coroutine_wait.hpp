/// @file
/// Internal. The functions of `coroutine_wait`. Each kind of pool instantiates them once.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/coroutine_wait.hpp"
#include "lido/concurrency/stop_request.hpp"
#include "rendezvous.hpp"

namespace lido::inline v0::detail {

/// State shared by a coroutine and the callback that ends its wait. The callback and the thread
/// that suspends the coroutine synchronise here. Whichever comes second resumes the coroutine.
template <class Outcome>
struct coroutine_wait<Outcome>::line {
  /// Throws std::bad_alloc.
  explicit line(Outcome& outcome) : result(&outcome) {}

  /// Stores the outcome of the wait, or gives it back if the coroutine is gone. Called once.
  void end_wait(Outcome found, std::coroutine_handle<> coroutine) noexcept {
    // relaxed: the awaiter existed before the callback
    Outcome* const waiting = result.exchange(nullptr, std::memory_order_relaxed);
    if (waiting == nullptr) {
      give_back(found);
      return;
    }
    *waiting = std::move(found);
    if (both.comes_second()) {
      coroutine.resume();
    }
  }

  atomic<Outcome*> result;  ///< null once the coroutine is gone
  rendezvous both;
  std::stop_source end;
  std::optional<std::stop_callback<stop_request>> on_stop;  ///< used by the coroutine's own thread
};

template <class Outcome>
void coroutine_wait<Outcome>::abandon() noexcept {
  // relaxed: a callback that finds null does not touch the outcome
  const bool waits = line_->result.exchange(nullptr, std::memory_order_relaxed) != nullptr;
  line_->on_stop.reset();
  if (waits) {
    (void)line_->end.request_stop();  // ends the wait, so that other waiters are served sooner
  }
}

template <class Outcome>
bool coroutine_wait<Outcome>::begin(const std::stop_token& stop, Outcome& outcome,
                                    std::coroutine_handle<> coroutine, const start& begin) {
  const auto both = std::make_shared<line>(outcome);
  both->on_stop.emplace(stop, stop_request{both->end});
  line_ = both;  // set before the call below, which may destroy the awaiter
  begin(completion<Outcome>([both, coroutine](Outcome found) noexcept {
          both->end_wait(std::move(found), coroutine);
        }),
        both->end.get_token());
  return !both->both.comes_second();
}

}  // namespace lido::inline v0::detail
