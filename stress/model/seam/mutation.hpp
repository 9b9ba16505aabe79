/// @file
/// LIDO_MUTATION_SEAM of the model build: which rule is broken is said at run time.
#pragma once

#include <type_traits>

namespace lido::detail {

/// The broken rule. NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a switch
inline mutation active_mutation = mutation::none;

[[nodiscard]] constexpr bool broken(mutation rule) noexcept {
  return !std::is_constant_evaluated() && active_mutation == rule;
}

}  // namespace lido::detail
