/// @file
/// The source location of an access.
#pragma once

namespace model {

/// Names the caller's line if it is a default argument. Not std::source_location: Clang 14 with the
/// standard library of GCC 12 has none.
struct code_location {
  const char* file = "";
  int line = 0;

  static constexpr code_location here(const char* file = __builtin_FILE(),
                                      int line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

}  // namespace model
