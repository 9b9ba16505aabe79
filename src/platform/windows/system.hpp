/// @file
/// Internal. The system's headers, without the macros that interfere with C++. No other file
/// includes them.
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
// must follow windows.h
#include <psapi.h>
