/// @file
/// Internal. Lets a thread sleep on a word of its own until another thread wakes it or its deadline
/// passes.
///
/// A model-checking build supplies the four functions that call the system.
#pragma once

#include <cstdint>
#include <limits>

#include "lido/base/durations.hpp"
#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0::detail {

/// The moment at which a wait ends, in nanoseconds of the steady clock. The moment may be "never".
class deadline {
 public:
  /// Makes a deadline that never passes.
  constexpr deadline() noexcept = default;

  /// Returns the deadline that passes after `wait`. It passes at once if `wait` is not positive,
  /// and never if `wait` is more than a century.
  template <class Rep, class Period>
  [[nodiscard]] static deadline after(std::chrono::duration<Rep, Period> wait) noexcept {
    const std::int64_t count = bounded(wait).count();
    return count == 0 ? at_once() : in_nanoseconds(count);
  }

  /// Bounds a wait that the caller stores until the wait begins. Returns 0 if `wait` is not
  /// positive, and `max()` if it is more than a century: longer waits may not fit into nanoseconds.
  template <class Rep, class Period>
  [[nodiscard]] static constexpr std::chrono::nanoseconds bounded(
      std::chrono::duration<Rep, Period> wait) noexcept {
    if (seconds(wait).count() > century) {
      return (std::chrono::nanoseconds::max)();
    }
    if (!(wait > wait.zero())) {  // NaN counts as 0, too
      return std::chrono::nanoseconds::zero();
    }
    return std::chrono::ceil<std::chrono::nanoseconds>(wait);
  }

  /// Returns the moment at which `Clock` shows `moment`. Setting that clock later has no effect.
  template <class Clock, class Duration>
  [[nodiscard]] static deadline at(std::chrono::time_point<Clock, Duration> moment) {
    const auto now = Clock::now();
    // The moments are first compared in seconds: the last moment of a clock that counts seconds may
    // not fit into nanoseconds.
    const long double wait =
        seconds(moment.time_since_epoch()).count() - seconds(now.time_since_epoch()).count();
    if (wait > century || wait < -century) {
      return wait > century ? deadline() : at_once();
    }
    return moment <= now ? at_once() : after(moment - now);
  }

  /// Returns the deadline at `moment`, in nanoseconds of the steady clock.
  [[nodiscard]] static constexpr deadline at_nanoseconds(std::int64_t moment) noexcept {
    return deadline(moment);
  }

  [[nodiscard]] constexpr bool is_never() const noexcept { return nanoseconds_ == never; }
  /// Returns true if the caller must not wait at all.
  [[nodiscard]] constexpr bool is_at_once() const noexcept { return nanoseconds_ == 0; }
  [[nodiscard]] constexpr std::int64_t nanoseconds() const noexcept { return nanoseconds_; }

  /// Returns the moment on the steady clock. If the deadline never passes, returns the last moment
  /// of that clock.
  [[nodiscard]] constexpr std::chrono::steady_clock::time_point moment() const noexcept {
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(nanoseconds_));
  }

  /// Returns true if the moment has passed.
  [[nodiscard]] bool passed() const noexcept;

  [[nodiscard]] friend constexpr deadline sooner(const deadline& left,
                                                 const deadline& right) noexcept {
    return right.nanoseconds_ < left.nanoseconds_ ? right : left;
  }

  /// Returns this deadline, or `wait` nanoseconds from now if that is sooner.
  [[nodiscard]] deadline but_within(std::int64_t wait) const noexcept {
    return sooner(*this, in_nanoseconds(wait));
  }

 private:
  using seconds = std::chrono::duration<long double>;
  static constexpr long double century = 100.0L * 365 * 24 * 3600;

  constexpr explicit deadline(std::int64_t nanoseconds) noexcept : nanoseconds_(nanoseconds) {}
  [[nodiscard]] static constexpr deadline at_once() noexcept { return deadline(0); }
  [[nodiscard]] static deadline in_nanoseconds(std::int64_t wait) noexcept;

  static constexpr std::int64_t never = (std::numeric_limits<std::int64_t>::max)();
  std::int64_t nanoseconds_ = never;
};

/// Sleeps while `word` is `expected`, until another thread calls `unpark` for the word. May return
/// spuriously. Returns false if the deadline has passed. Uses futex(2), or short sleeps on systems
/// without it.
///
/// Each sleeper has its own word. Condition variables of the C library would not do: they have lost
/// wake-ups (glibc bug 25847). Neither would std::counting_semaphore, which skips some wake-ups in
/// libstdc++ 12.
[[nodiscard]] bool park(const atomic<std::uint32_t>& word, std::uint32_t expected,
                        const deadline& until) noexcept;

/// Wakes the thread that sleeps on `word`. Called after the word was changed. Uses only the address
/// of the word: the word may no longer exist, and another thread may sleep at that address. Such a
/// thread wakes spuriously, which every user of futexes must tolerate.
void unpark(const atomic<std::uint32_t>* word) noexcept;

}  // namespace lido::inline v0::detail
