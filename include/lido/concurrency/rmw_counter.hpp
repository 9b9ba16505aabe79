/// @file
/// Internal. Counts read-modify-writes of lines that threads share, in builds that ask for it.
///
/// That number predicts behaviour on many cores, where each such operation moves a cache line.
#pragma once

#include <cstdint>

namespace lido::detail {

#if defined(LIDO_COUNT_RMW) && LIDO_COUNT_RMW

/// Called once for every attempt, successful or not.
void count_shared_rmw() noexcept;

/// Attempts of all threads since the start of the program. Thread-safe; exact when others pause.
[[nodiscard]] std::uint64_t shared_rmw_count() noexcept;

#else

inline void count_shared_rmw() noexcept {}
[[nodiscard]] inline std::uint64_t shared_rmw_count() noexcept {
  return 0;
}

#endif

}  // namespace lido::detail
