/// @file
/// Where in the sources an access stands.
#pragma once

namespace model {

/// Taken as a default argument, it names the caller's line. Not std::source_location: Clang 14 with
/// the standard library of GCC 12 has none.
struct place {
  const char* file = "";
  int line = 0;

  static constexpr place here(const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

}  // namespace model
