/// @file
/// Public. `lido::par`: walks of slot maps on the threads of oneTBB.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <cstdint>

namespace lido {

/// Executor for `for_each`: `map.for_each(lido::par, f)`. Runs in the caller's arena; ranges are of
/// 512 places or more. If an f throws, the others may or may not have run.
struct tbb_executor {
  static constexpr std::uint32_t least_range = 512;

  template <class Body>
  void operator()(std::uint32_t count, const Body& body) const {
    tbb::parallel_for(
        tbb::blocked_range<std::uint32_t>(0, count, least_range),
        [&](const tbb::blocked_range<std::uint32_t>& range) { body(range.begin(), range.end()); });
  }
};
inline constexpr tbb_executor par{};

}  // namespace lido
