// The end of a run under libFuzzer: it catches the abort and saves the input.
#include <cstdio>
#include <cstdlib>

#include "fuzz/check.hpp"

void fuzz::broken(const std::string& what) {
  std::fprintf(stderr, "BROKEN: %s\n", what.c_str());
  std::abort();
}
