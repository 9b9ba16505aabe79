/// @file
/// Public. Policies for tests: `object_pool<job, testing::torture<>>` in place of
/// `object_pool<job>`. They do nothing of their own; `torture_scope` says how much happens.
#pragma once

#include "lido/freelist/treiber_stack.hpp"
#include "lido/magazine/slot_source_impl.hpp"
#include "lido/object/policy.hpp"
#include "lido/testing/flaky_atomic.hpp"
#include "lido/testing/torture.hpp"

namespace lido::testing {

/// Shared free list: Lido's own, with tags of at most `Bits` bits, so that they wrap every 2^Bits
/// releases that reach it.
///
/// A thread that stands still for exactly so many of them can be fooled, and so can an acquire that
/// decides that the pool is exhausted. With several threads use 16 bits or more, unless that is
/// what a test wants to see.
template <unsigned Bits>
struct narrow_tags {
  static_assert(Bits >= 1 && Bits <= 64, "lido: a tag has 1 to 64 bits");
  using stack = detail::treiber_stack<Bits>;
  using growing_stack = detail::growing_treiber_stack<Bits>;
};

/// Shared free list: the same, whose compare-and-swaps fail (`cas_failures`) and are late
/// (`delays`).
template <unsigned Bits = 64>
struct flaky_list {
  static_assert(Bits >= 1 && Bits <= 64, "lido: a tag has 1 to 64 bits");
  using stack = detail::treiber_stack<Bits, detail::flaky_atomic<std::uint64_t>>;
  using growing_stack = detail::growing_treiber_stack<Bits, detail::flaky_atomic<std::uint64_t>>;
};

/// Thread caches as by default, which are missed (`cache_misses`); acquires that are refused
/// (`refusals`), and slots that change hands late (`delays`).
struct missing_cache {
  static constexpr auto caches = detail::cache_choice::automatic;

  static detail::detour before_acquire() noexcept {
    if (detail::happens(detail::torture_now.refusals)) {
      return detail::detour::refused;
    }
    return before_release();
  }

  static detail::detour before_release() noexcept {
    detail::perhaps_delay();
    return detail::happens(detail::torture_now.cache_misses) ? detail::detour::past_the_cache
                                                             : detail::detour::none;
  }
};

/// Both, as one policy.
template <unsigned Bits = 64>
struct torture : flaky_list<Bits>, missing_cache {};

}  // namespace lido::testing
