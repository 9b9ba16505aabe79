/// @file
/// LIDO_MUTATION_SEAM of the model build: which rule is broken is said at run time.
#pragma once

namespace lido::detail {

/// The broken rule. NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a switch
inline mutation active_mutation = mutation::none;

/// A template, so that constexpr functions may call it although it is no constant.
template <class = void>
[[nodiscard]] constexpr bool broken(mutation rule) noexcept {
  return active_mutation == rule;
}

}  // namespace lido::detail
