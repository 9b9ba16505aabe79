/// @file
/// What threads did to a pool, with times, and whether a pool that obeys its rules can have done
/// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stress {

/// Nanoseconds of one clock that all processors share. It does not move backwards between an event
/// and one that is seen to follow it in another thread.
using instant = std::uint64_t;
[[nodiscard]] instant now() noexcept;

/// One slot from acquire to release. Each call happened at some moment between its two instants.
struct holding {
  instant acquire_call;
  instant acquire_return;
  instant release_call;
  instant release_return;
  std::uint32_t slot;
};

/// One acquire that got nothing.
struct refusal {
  instant call;
  instant answer;
};

/// Every operation on a pool between two moments at which all its slots were free.
struct history {
  std::vector<holding> holdings;
  std::vector<refusal> refusals;

  void append(const history& other);
  [[nodiscard]] std::size_t operations() const noexcept {
    return 2 * holdings.size() + refusals.size();
  }
};

/// The first thing in `what` that a pool of `slots` slots cannot have done, or nothing.
///
/// The search for a linearization (Wing and Gong, 1993) splits by object (Herlihy and Wing, 1990),
/// and for a pool comes down to two rules:
///  - Certainly out: a slot's times from acquire_return to release_call do not overlap.
///  - Maybe out: a refusal has a moment at which every slot lay between some acquire_call and its
///    release_return.
[[nodiscard]] std::optional<std::string> impossible_in(const history& what, std::size_t slots);

}  // namespace stress
