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
  std::string name;    ///< name of the rule, or the site
  std::string breaks;  ///< description in words
  bool is_order = false;
  std::vector<std::string_view>
      scenarios;  ///< scenarios that pass it, as far as a short search shows; empty: not known
  std::string killer{};  ///< scenario to try first; empty: not known
};

/// The result of a hunt for a mutant.
struct verdict {
  enum class end : std::uint8_t { killed, crashed, endless, survived };

  end how = end::survived;
  std::string scenario;
  std::string mode;
  std::string failure;
  std::uint64_t executions = 0;  ///< executions of all scenarios, up to the one that showed it
  std::uint64_t at_last = 0;     ///< executions of that scenario alone, in that mode
};

/// Breaks a rule for all executions from now on; "none" restores the library. Throws
/// std::invalid_argument.
void break_rule(std::string_view name);

/// Returns every rule that scenarios pass, and every ordered access reached by the scenarios whose
/// names begin with `within`. `sources`: the folder of include/ and src/, for the notes above the
/// accesses.
[[nodiscard]] std::vector<mutant> all_mutants(const std::string& sources, std::string_view within);

/// Runs the fault's scenarios on the library with this fault, in a separate process: a broken
/// library may do anything. Runs at most `executions` of each scenario in each mode, and only
/// scenarios whose name begins with `within`. The killer comes first, then all the others.
[[nodiscard]] verdict try_mutant(const mutant& fault, std::uint64_t executions,
                                 const std::string& within);

}  // namespace model
