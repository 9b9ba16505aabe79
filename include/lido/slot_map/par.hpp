/// @file
/// Public. `lido::par`: walks of slot maps on the threads of oneTBB.
#pragma once

// Qt makes a macro of a word that oneTBB uses.
#pragma push_macro("emit")
#undef emit
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#pragma pop_macro("emit")

#include <cstdint>

namespace lido::inline v0 {

/// Executor for `for_each`: `map.for_each(lido::par, f)`. Runs in the caller's arena; divides a map
/// of more than 512 indices into ranges of 256 or more. If an f throws, the others may or may not
/// have run. While an f waits for tasks of its own, its thread runs no others: one of them might
/// enter the value of this f.
struct tbb_executor {
  static constexpr std::uint32_t least_range = 512;

  template <class Body>
  void operator()(std::uint32_t count, const Body& body) const {
    tbb::parallel_for(tbb::blocked_range<std::uint32_t>(0, count, least_range),
                      [&](const tbb::blocked_range<std::uint32_t>& range) {
                        tbb::this_task_arena::isolate([&] { body(range.begin(), range.end()); });
                      });
  }
};
inline constexpr tbb_executor par{};

}  // namespace lido::inline v0
