// Numbers threads on systems on which the system's own thread number is not known.
#pragma once

#include <atomic>
#include <cstdint>

namespace lido::inline v0::detail::platform {

/// Returns the number of the calling thread. Threads are numbered in the order of their first
/// calls.
inline std::uint32_t counted_thread_id() noexcept {
  static constinit std::atomic<std::uint32_t> counted{0};
  static constinit thread_local std::uint32_t own = 0;
  if (own == 0) {
    // relaxed: the number orders nothing
    own = counted.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  return own;
}

}  // namespace lido::inline v0::detail::platform
