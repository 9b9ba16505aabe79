/// @file
/// Public. `lido::par`: walks of slot maps on the threads of oneTBB.
#pragma once

// Qt defines `emit` as a macro, but oneTBB uses it as a name.
#pragma push_macro("emit")
#undef emit
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#pragma pop_macro("emit")

#include <cstdint>

namespace lido::inline v0 {

/// Executor for `for_each`, as in `map.for_each(lido::par, f)`. Runs in the caller's task arena.
/// Divides a map of more than 512 indices into ranges of at least 256. If a call of `f` throws, the
/// other calls may or may not run. While a call of `f` waits for its own tasks, its thread runs no
/// other tasks, because one of them might enter the value of that call.
struct tbb_executor {
  /// Indices below which a map is walked by one thread.
  static constexpr std::uint32_t least_range = 512;

  /// Calls `body(first, last)` for ranges that together cover the indices from 0 to `count`.
  template <class Body>
  void operator()(std::uint32_t count, const Body& body) const {
    tbb::parallel_for(tbb::blocked_range<std::uint32_t>(0, count, least_range),
                      [&](const tbb::blocked_range<std::uint32_t>& range) {
                        tbb::this_task_arena::isolate([&] { body(range.begin(), range.end()); });
                      });
  }
};
/// The executor for `for_each`.
inline constexpr tbb_executor par{};

}  // namespace lido::inline v0
