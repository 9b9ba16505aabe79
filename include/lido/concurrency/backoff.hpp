/// @file
/// Internal. What a thread does between two attempts at a contended word.
#pragma once

#include <cstdint>
#include <limits>

#include "lido/base/tuning.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

/// Gives up the rest of this thread's time slice.
void yield_thread() noexcept;

/// Sleeps for `microseconds`. In a normal thread on Linux, the sleep lasts some 60 microseconds
/// longer.
void nap_thread(std::uint32_t microseconds = 1) noexcept;

/// Returns true if another thread can run while this thread spins, as far as the system knows.
[[nodiscard]] bool several_processors() noexcept;

/// Makes a thread pause after failed compare-and-swaps, each time for twice as long: 1, 2, 4 ... 64
/// pauses (Dice, Hendler, Mirsky 2013).
class exponential_backoff {
 public:
  void pause() noexcept {
    for (std::uint32_t i = 0; i < pauses_; ++i) {
      cpu_pause();
    }
    pauses_ = pauses_ < most_pauses ? pauses_ * 2 : most_pauses;
  }

  /// Pauses at first, later yields, and finally sleeps for 1, 2, 4 ... 1024 microseconds, since the
  /// awaited thread may be preempted. If a real-time thread only yielded, or slept only as long as
  /// a thread switch takes, the awaited thread would get no time on a processor that both share.
  void wait() noexcept {
    if (waits_ < tuning::waits_before_yield) {
      pause();
    } else if (waits_ < tuning::waits_before_nap) {
      yield_thread();
    } else {
      nap_thread(nap_);
      nap_ = nap_ < tuning::longest_nap ? nap_ * 2 : tuning::longest_nap;
      return;  // counting further is useless, and some callers wait for hours
    }
    ++waits_;
  }

  /// Returns how often the caller has waited. The count does not grow after the first sleep.
  [[nodiscard]] int waits() const noexcept { return waits_; }

 private:
  static constexpr std::uint32_t most_pauses = tuning::most_pauses;
  std::uint32_t pauses_ = 1;
  std::uint32_t nap_ = 1;  ///< microseconds
  int waits_ = 0;
};

/// Waits for other threads until they have made no progress for a tenth of a second, but no longer
/// than the limit given to the constructor. A clock measures the time, since a sleep takes
/// microseconds in one thread and milliseconds in another.
///
/// Reads the clock only after some pauses. If the whole machine has been suspended, the other
/// threads had no time to make progress. Therefore no wait counts for more than
/// `tuning::nanoseconds_of_one_wait`.
class bounded_wait {
 public:
  /// Limits all waits together to `most` nanoseconds. Without a limit, only a lack of progress ends
  /// the waits.
  constexpr explicit bounded_wait(
      std::int64_t most = (std::numeric_limits<std::int64_t>::max)()) noexcept
      : left_(most) {}

  /// Restarts the measurement of time without progress, if `progress` differs from its value in the
  /// last call.
  void note_progress(std::uint64_t progress) noexcept {
    if (progress != progress_) {
      progress_ = progress;
      spent_ = 0;
    }
  }

  /// Waits a little. Returns false once the caller has waited long enough.
  [[nodiscard]] bool wait() noexcept {
    backoff_.wait();
    return backoff_.waits() < tuning::waits_before_yield || !is_over();
  }

  /// Returns how often the caller has waited, as exponential_backoff::waits does.
  [[nodiscard]] int waits() const noexcept { return backoff_.waits(); }

 private:
  /// Returns true if the time is up. A model-checking build, which has no clock, counts the calls.
  [[nodiscard]] bool is_over() noexcept;

  exponential_backoff backoff_;
  std::int64_t left_;       ///< nanoseconds for all waits together
  std::int64_t spent_ = 0;  ///< nanoseconds without progress of other threads
  std::int64_t last_ = 0;   ///< time of the last clock reading; 0: none yet
  std::uint64_t progress_ = 0;
};

}  // namespace lido::inline v0::detail
