/// @file
/// The source location of an access.
#pragma once

namespace model {

/// A source location that, as a default argument, names the caller's line. Not
/// std::source_location, which Clang 14 lacks with the standard library of GCC 12.
struct code_location {
  const char* file = "";
  int line = 0;

  static constexpr code_location here(const char* file = __builtin_FILE(),
                                      int line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

}  // namespace model
