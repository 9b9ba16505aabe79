/// @file
/// What a fuzz target says when something does not hold.
#pragma once

#include <string>

namespace fuzz {

/// Prints "BROKEN: ..." and ends the program; how, the main file of the target decides.
[[noreturn]] void broken(const std::string& what);

inline void check(bool holds, const char* what) {
  if (!holds) {
    broken(what);
  }
}

}  // namespace fuzz
