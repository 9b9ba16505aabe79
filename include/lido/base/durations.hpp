/// @file
/// Internal. Durations, time points and clocks of the standard library, without the rest of
/// <chrono>.
#pragma once

// The rest of <chrono> is calendars and their text. In GCC 12, including these takes a seventh of
// the time that including <string>, <vector> and <thread> takes.
#if __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif
