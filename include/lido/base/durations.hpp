/// @file
/// Internal. Durations, time points and clocks of the standard library, without the rest of
/// <chrono>; and the message for a number in place of a duration.
#pragma once

// The rest of <chrono> is calendars and their text. In GCC 12, including these takes a seventh of
// the time that including <string>, <vector> and <thread> takes.
#if __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif

#include <type_traits>

namespace lido::inline v0::detail {

/// Does not compile for a number, with a message that says what to write.
template <class Number>
struct time_without_unit {
  static_assert(!std::is_arithmetic_v<Number>,
                "lido: a time needs a unit: write 5ms or 5s instead of 5");
  static constexpr bool value = true;
};

/// Types of numbers. Functions that wait for a limited time have a deleted overload for them, so
/// that a call with a number gets the message above.
template <class T>
concept unitless = std::is_arithmetic_v<T> && time_without_unit<T>::value;

}  // namespace lido::inline v0::detail
