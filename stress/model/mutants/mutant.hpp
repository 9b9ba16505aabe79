/// @file
/// A library with one fault, and the search for a scenario that shows it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checker/explore.hpp"

namespace model {

/// One fault: a rule that is broken, or an order that is weakened.
struct mutant {
  std::string name;    ///< of the rule, or the site
  std::string breaks;  ///< in words
  bool is_order = false;
  std::vector<std::string_view>
      scenarios;         ///< that come by, as far as a short look tells; none: not known
  std::string killer{};  ///< the scenario to try first; empty: not known
};

/// What became of it.
struct verdict {
  enum class end : std::uint8_t { killed, crashed, endless, survived };

  end how = end::survived;
  std::string scenario;
  std::string mode;
  std::string failure;
  std::uint64_t executions = 0;  ///< of all scenarios, up to the one that showed it
  std::uint64_t at_last = 0;     ///< of the scenario that showed it, in that mode and run alone
};

/// Breaks a rule for all executions from now on; "none" mends it. Throws std::invalid_argument.
void break_rule(std::string_view name);

/// Every rule that scenarios come by, and every ordered access reached by the scenarios whose
/// names begin with `within`. `sources`: the folder of include/ and src/, for the notes above the
/// accesses.
[[nodiscard]] std::vector<mutant> all_mutants(const std::string& sources, std::string_view within);

/// Runs the scenarios that come by on the library with this fault, in a process of its own: a
/// broken library may do anything. At most so many executions of each scenario in each mode; of the
/// scenarios, those whose name begins with `within`. The killer comes first, then all the others.
[[nodiscard]] verdict try_mutant(const mutant& fault, std::uint64_t executions,
                                 const std::string& within);

}  // namespace model
