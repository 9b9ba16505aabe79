/// @file
/// The rules of the design that can be broken, by their names in mutation.hpp.
#pragma once

#include <span>
#include <string_view>

#include "lido/base/mutation.hpp"

namespace model {

struct rule {
  lido::detail::mutation which;
  std::string_view name;
  std::string_view says;  ///< what is broken
};

[[nodiscard]] std::span<const rule> all_rules();

/// Breaks one for all executions from now on; "none" mends it. Throws std::invalid_argument.
void break_rule(std::string_view name);

}  // namespace model
