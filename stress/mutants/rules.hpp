/// @file
/// The rules that can be broken, by name. overlay.py writes the table out of *.toml.
#pragma once

#include <array>
#include <string_view>

#include "mutants/broken.hpp"

namespace lido::inline v0::detail {

struct named_rule {
  mutation rule;
  std::string_view name;
  std::string_view sentence;  ///< description of the broken rule
  bool is_modelled;           ///< whether a scenario of the model checker passes it
};

#include "rule_table.hpp"

}  // namespace lido::inline v0::detail
