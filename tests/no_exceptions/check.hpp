// Checks for programs that GoogleTest, which throws, cannot test.
#pragma once

#include <cstdio>
#include <cstdlib>

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "to be compiled with -fno-exceptions -fno-rtti"
#endif

inline void check(bool holds, const char* what) {
  if (!holds) {
    (void)std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
  }
}

#define CHECK(condition) check(condition, #condition)
