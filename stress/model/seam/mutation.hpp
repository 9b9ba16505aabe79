/// @file
/// LIDO_MUTATION_SEAM of the model build: which rule is broken is said at run time.
#pragma once

#include <atomic>

namespace lido::detail {

/// The broken rule. NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a switch
inline mutation active_mutation = mutation::none;

/// Whether anybody has come by it.
/// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
inline std::atomic<bool> broken_rule_was_met{false};

/// A template, so that constexpr functions may call it although it is no constant.
template <class = void>
[[nodiscard]] constexpr bool broken(mutation rule) noexcept {
  if (active_mutation != rule) {
    return false;
  }
  // relaxed: read when all threads have ended
  broken_rule_was_met.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace lido::detail
