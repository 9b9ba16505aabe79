/// @file
/// The concept that every contender models, so that no workload depends on a peer.
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

/// The requirements on a contender.
struct sizing {
  std::size_t capacity;  ///< objects that must be able to be out at once
  unsigned threads;      ///< threads that will hold a session at once
};

/// The traits of a contender; a contender derives from this and hides those that differ.
struct contender_defaults {
  /// True if there are exactly `sizing::capacity` objects: then it takes part in near_exhaustion.
  static constexpr bool fixed_capacity = false;
  /// True if an object may be released by another thread than the one that acquired it.
  static constexpr bool crosses_threads = true;
  /// True if it does only the hand-over: then it takes part in handoff alone.
  static constexpr bool only_crosses_threads = false;
  /// True if the workload need not check the pointer. Only for the floors: all others can run dry.
  static constexpr bool never_fails = false;
  /// Returns the largest number of threads to run.
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

/// Returns how many processors this process may run on.
inline unsigned cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    return 1;
  }
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace lido_bench
