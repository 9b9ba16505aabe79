/// @file
/// Public. A length of time in options.
#pragma once

#include <chrono>
#include <type_traits>

namespace lido {

/// Nanoseconds, made from any duration of std::chrono. One that is longer than nanoseconds can
/// count, as `std::chrono::hours::max()`, is the longest that they can, 292 years, instead of a
/// number that has overflown; fractions of a nanosecond are rounded up.
class time_limit : public std::chrono::nanoseconds {
  using nanoseconds = std::chrono::nanoseconds;

 public:
  constexpr time_limit() noexcept : nanoseconds(0) {}
  template <class Rep, class Period>
  // NOLINTNEXTLINE(google-explicit-constructor): options are written as durations
  explicit(false) constexpr time_limit(std::chrono::duration<Rep, Period> length) noexcept
      : nanoseconds(bounded(length)) {}
  template <class Number>
    requires std::is_arithmetic_v<Number>
  // NOLINTNEXTLINE(google-explicit-constructor): so that the error says what to write
  explicit(false) constexpr time_limit(Number /*length*/) {
    static_assert(!std::is_same_v<Number, Number>,
                  "lido: a time needs a unit: write 500ms instead of 500");
  }

 private:
  template <class Rep, class Period>
  static constexpr nanoseconds bounded(std::chrono::duration<Rep, Period> length) noexcept {
    using seconds = std::chrono::duration<double>;
    constexpr seconds longest = nanoseconds::max();
    // Not a number is no time at all. What is near the end is rounded to it.
    if (!(seconds(length) > -longest && seconds(length) < longest)) {
      return seconds(length) > seconds::zero() ? nanoseconds::max() : nanoseconds::min();
    }
    return std::chrono::ceil<nanoseconds>(length);
  }
};

}  // namespace lido
