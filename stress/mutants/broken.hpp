/// @file
/// Included first by every file that uses the mutated copy of the library; the broken rule is
/// chosen at run time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "mutations.hpp"

namespace lido::inline v0::detail {

/// The broken rule. NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a switch
inline mutation active_mutation = mutation::none;

/// Rules that any thread has passed.
inline std::array<std::atomic<bool>, 256> rules_met{};

[[nodiscard]] inline bool was_met(mutation rule) noexcept {
  // relaxed: as below
  return rules_met.at(static_cast<std::size_t>(rule)).load(std::memory_order_relaxed);
}

inline void forget_rules_met() noexcept {
  for (std::atomic<bool>& met : rules_met) {
    // relaxed: as below
    met.store(false, std::memory_order_relaxed);
  }
}

/// Returns whether the rule is broken. A template, so that constexpr functions may call it although
/// it is no constant.
template <class = void>
[[nodiscard]] constexpr bool broken(mutation rule) noexcept {
  std::atomic<bool>& met = rules_met.at(static_cast<std::size_t>(rule));
  // relaxed (2x): read when all threads have ended
  if (!met.load(std::memory_order_relaxed)) {
    met.store(true, std::memory_order_relaxed);
  }
  return active_mutation == rule;
}

}  // namespace lido::inline v0::detail
