/// @file
/// Reports by which a fuzz target fails.
#pragma once

#include <string>

namespace fuzz {

/// Prints "BROKEN: ..." and ends the program, in a way that the target's main file decides.
[[noreturn]] void broken(const std::string& what);

inline void check(bool holds, const char* what) {
  if (!holds) {
    broken(what);
  }
}

}  // namespace fuzz
