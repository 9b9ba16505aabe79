/// @file
/// Internal. How a create ended.
#pragma once

#include <exception>
#include <memory>
#include <string>

namespace lido::inline v0::detail {

/// What a failed create reported.
struct create_failure_text {
  std::exception_ptr error;  ///< null if the create returned a create_error
  std::string text;
};

/// How a create ended.
struct create_outcome {
  bool made = false;
  bool permanent = false;                            ///< a retry is useless
  std::shared_ptr<const create_failure_text> error;  ///< null on success, or if memory ran out
};

}  // namespace lido::inline v0::detail
