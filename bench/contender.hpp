/// @file
/// The concept every contender models, so that no workload knows a peer.
///
/// A contender is a class template over the object's size: the pool, which all threads share. Each
/// thread has a `session`, built when the thread enters and destroyed before it ends. A session is
/// a local variable of the workload, so that tokens and references stay in registers.
#pragma once

#include <sched.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string_view>

namespace lido_bench {

/// What a contender is asked to provide for.
struct sizing {
  std::size_t capacity;  ///< objects that must be able to be out at once
  unsigned threads;      ///< threads that will hold a session at once
};

/// The traits of a contender; a contender derives from this and hides what differs.
struct contender_defaults {
  /// Exactly `sizing::capacity` objects and not one more: takes part in near_exhaustion.
  static constexpr bool fixed_capacity = false;
  /// An object may be released by another thread than the one that acquired it.
  static constexpr bool crosses_threads = true;
  /// Nothing but the hand-over: takes part in handoff alone.
  static constexpr bool only_crosses_threads = false;
  /// The workload need not look at the pointer. Only the floors: everything else can run dry.
  static constexpr bool never_fails = false;
  /// More threads than this are not run.
  static unsigned max_threads() { return std::numeric_limits<unsigned>::max(); }
};

template <typename Pool>
concept contender = std::derived_from<Pool, contender_defaults> &&
    std::constructible_from<Pool, const sizing&> &&
    std::constructible_from<typename Pool::session, Pool&> &&
    requires(typename Pool::session& session, void* object) {
  { Pool::name } -> std::convertible_to<std::string_view>;
  { session.acquire() } -> std::same_as<void*>;
  session.release(object);
};

/// An object of the given size, aligned as malloc aligns, left uninitialised.
template <std::size_t Bytes>
struct alignas(std::max_align_t) block {
  std::byte bytes[Bytes];
};

/// Processors this process may run on.
inline unsigned cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    return 1;
  }
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace lido_bench
