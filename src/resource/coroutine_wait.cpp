// A coroutine that waits for a resource.
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "lido/concurrency/atomic.hpp"
#include "lido/resource/co_acquire.hpp"
#include "lido/resource/stop_request.hpp"
#include "rendezvous.hpp"

namespace lido::inline v0::detail {

/// State shared by a coroutine and the callback that ends its wait. The callback and the thread
/// that suspends the coroutine synchronise here. Whichever comes second resumes the coroutine.
struct coroutine_line {
  explicit coroutine_line(acquire_outcome& outcome) noexcept : result(&outcome) {}
  /// Stores the result of the acquire. Called once. Releases the resource if the coroutine is gone.
  void end_wait(acquire_outcome found, std::coroutine_handle<> coroutine) noexcept;

  atomic<acquire_outcome*> result;  ///< null once the coroutine is gone
  rendezvous both;
  std::stop_source end;
  std::optional<std::stop_callback<stop_request>> on_stop;  ///< used by the coroutine's own thread
};

void coroutine_line::end_wait(acquire_outcome found, std::coroutine_handle<> coroutine) noexcept {
  // relaxed: the awaiter existed before the callback
  acquire_outcome* const waiting = result.exchange(nullptr, std::memory_order_relaxed);
  if (waiting == nullptr) {
    if (found.grant.slot != nullptr) {
      found.grant.slot->record.cache->release(found.grant);
    }
    return;
  }
  *waiting = std::move(found);
  if (both.comes_second()) {
    coroutine.resume();
  }
}

coroutine_wait::~coroutine_wait() {
  if (line_ == nullptr) {
    return;
  }
  // relaxed: a callback that finds null does not touch the outcome
  const bool waits = line_->result.exchange(nullptr, std::memory_order_relaxed) != nullptr;
  line_->on_stop.reset();
  if (waits) {
    (void)line_->end.request_stop();  // ends the wait, so that other waiters are served sooner
  }
}

bool coroutine_wait::begin(pool_core& core, acquire_call& call, acquire_outcome& outcome,
                           std::coroutine_handle<> coroutine) {
  const auto line = std::make_shared<coroutine_line>(outcome);
  line->on_stop.emplace(call.stop, stop_request{line->end});
  call.stop = line->end.get_token();
  line_ = line;  // set before the call below, which may destroy the awaiter
  core.acquire_async(call, acquire_completion([line, coroutine](acquire_outcome found) noexcept {
                       line->end_wait(std::move(found), coroutine);
                     }));
  return !line->both.comes_second();
}

}  // namespace lido::inline v0::detail
