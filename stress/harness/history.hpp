/// @file
/// A timed history of calls on a pool, and a check whether a correct pool can have produced it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stress {

/// Nanoseconds of one clock that all processors share. It never runs backwards between an event and
/// a later one in another thread that saw its effect.
using instant = std::uint64_t;
[[nodiscard]] instant now() noexcept;

/// One slot from acquire to release. Each call took effect at some moment between its two instants.
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

/// Returns the first event in `what` that a pool of `slots` slots cannot have produced, or nothing.
///
/// The search for a linearization (Wing and Gong, 1993) splits by object (Herlihy and Wing, 1990),
/// and for a pool comes down to two rules:
///  - Certainly out: a slot's times from acquire_return to release_call do not overlap.
///  - Maybe out: a refusal has a moment at which every slot lay between some acquire_call and its
///    release_return.
[[nodiscard]] std::optional<std::string> impossible_in(const history& what, std::size_t slots);

}  // namespace stress
