/// @file
/// Internal. Durations, moments and clocks of the standard library, without the rest of <chrono>.
#pragma once

// The rest are calendars and their text: in GCC 12 a seventh of the time that <string>, <vector>
// and <thread> take to include.
#if __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif
