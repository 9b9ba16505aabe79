/// The modelled system services of the library: the heavy fence, and ways to wait.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "checker/access.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/concurrency/parking.hpp"
#include "seam/system.hpp"
#include "src/allocator/allocator_state.hpp"

namespace model {

namespace {

refusals refused = refusals::none;
bool taken_away = false;
bool slow = false;
bool reached = false;

/// The time-outs of the execution. Their number is bounded, or the search would follow them for
/// ever.
class time_outs {
 public:
  static time_outs& now() noexcept {
    static time_outs one;
    const std::uint64_t number = execution::now().number();
    if (std::exchange(one.execution_, number) != number) {
      one.count_ = 0;
    }
    return one;
  }
  void add() noexcept { ++count_; }
  [[nodiscard]] bool are_many() const noexcept { return count_ >= 4; }

 private:
  std::uint64_t execution_ = 0;
  int count_ = 0;
};

}  // namespace

refused_heavy_fences::refused_heavy_fences(refusals which) noexcept {
  refused = which;
}

refused_heavy_fences::~refused_heavy_fences() {
  refused = refusals::none;
}

slow_heavy_fence::slow_heavy_fence() noexcept {
  slow = true;
  reached = false;
}

slow_heavy_fence::~slow_heavy_fence() {
  slow = false;
}

bool slow_heavy_fence::was_reached() noexcept {
  return reached;
}

void slow_heavy_fence::go_on() noexcept {
  slow = false;
  execution::now().wake(&slow);
}

/// Stops the calling thread here, if it is the first.
void pass_slow_heavy_fence() {
  if (slow && !std::exchange(reached, true)) {
    (void)execution::now().block(&slow, /*timed=*/false);
  }
}

bool heavy_fence_is_refused() {
  if (refused == refusals::any) {
    return execution::now().choose(question::failure, 2) == 1;
  }
  const bool is_refused = refused != refusals::none;
  if (refused == refusals::next) {
    refused = refusals::none;
  }
  return is_refused;
}

void begin_sleep() noexcept {
  if (refused == refusals::until_sleep) {
    refused = refusals::none;
  }
}

void take_heavy_fence_away(bool yes) noexcept {
  taken_away = yes;
}

void forget_unused_caches() noexcept {
  static std::uint64_t last = 0;
  if (const std::uint64_t now = execution::now().number(); std::exchange(last, now) != now) {
    std::fill(std::begin(lido::detail::unused_caches), std::end(lido::detail::unused_caches),
              std::byte{0});
  }
}

}  // namespace model

namespace lido::inline v0::detail {

bool heavy_fence_available() noexcept {
  return !model::taken_away;
}

bool heavy_fence() noexcept {
  model::pass_slow_heavy_fence();
  if (model::heavy_fence_is_refused()) {
    return false;
  }
  if (!broken(mutation::no_heavy_fence)) {
    model::heavy_fence({"asymmetric_fence.cpp", 0});
  }
  return true;
}

void yield_thread() noexcept {
  model::execution::now().rest();
}

void nap_thread(std::uint32_t /*microseconds*/) noexcept {
  model::execution::now().rest();
}

bool bounded_wait::is_over() noexcept {
  return ++spent_ >= tuning::nanoseconds_of_patience;
}

bool several_processors() noexcept {
  return true;
}

// There is no clock: a deadline may have passed whenever a thread asks, and has passed after many
// time-outs. A nanosecond passes at once, for scenarios that need an expired time.

bool deadline::passed() const noexcept {
  return !is_never() && (nanoseconds() <= 1 || model::time_outs::now().are_many() ||
                         model::execution::now().choose(model::question::event, 2) == 1);
}

deadline deadline::in_nanoseconds(std::int64_t wait) noexcept {
  return deadline(wait);
}

// Parks as futex(2) does: to a waking thread, checking the word and falling asleep is one step.
bool park(const atomic<std::uint32_t>& word, std::uint32_t expected,
          const deadline& until) noexcept {
  auto& here = model::execution::now();
  if (!until.is_never() && model::time_outs::now().are_many()) {
    here.rest();  // or a thread whose alarm repeats would keep the others from running
  }
  here.point();
  model::begin_sleep();
  if (here.memory().stores(word.location()).back().value != expected) {
    return true;
  }
  const bool woken = here.block(&word, /*timed=*/!until.is_never());
  if (!woken) {
    model::time_outs::now().add();
  }
  return woken;
}

void unpark(const atomic<std::uint32_t>* word) noexcept {
  auto& here = model::execution::now();
  here.point();
  here.wake(word);
}

}  // namespace lido::inline v0::detail
