/// @file
/// Statistics of a pool in which threads may still be destroying closing resources.
#pragma once

#include <chrono>
#include <thread>

namespace lido::test {

/// Returns the statistics once no resource is closing, or after ten seconds.
template <class Pool>
auto settled(Pool& pool) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  auto stats = pool.stats();
  while (stats.closing != 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stats = pool.stats();
  }
  return stats;
}

}  // namespace lido::test
