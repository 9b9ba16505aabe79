/// @file
/// Public. What an object pool can be told at compile time: `object_pool<T, policy::..., ...>`, in
/// any order, at most one of each kind.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "lido/base/error.hpp"
#include "lido/debug/no_checks.hpp"
#include "lido/freelist/index_stack.hpp"
#include "lido/freelist/treiber_stack.hpp"
#include "lido/magazine/slot_source.hpp"
#include "lido/object/life_cycle.hpp"

namespace lido {

/// What an exhaustion policy is told. The numbers are as in `pool_stats`.
struct exhaustion {
  std::string_view pool_name;
  std::size_t capacity;
  std::size_t in_use;
  std::size_t attempt = 1;  ///< how often this call of `acquire` has found no slot
};

/// What an exhaustion policy may answer. fail: `acquire` throws pool_exhausted. drop: it returns an
/// empty lease. retry: it looks for a slot again.
enum class exhaustion_answer : std::uint8_t { fail, drop, retry };

namespace policy {

/// Thread caches that cost no read-modify-write and no fence; a thread that finds the pool empty
/// pays to look into them. Falls back to `locked_cache` where the system lacks membarrier(2). The
/// default.
struct revocable_cache {
  static constexpr auto caches = detail::cache_choice::automatic;
};

/// Thread caches that cost one read-modify-write of the thread's own line per operation.
struct locked_cache {
  static constexpr auto caches = detail::cache_choice::locked;
};

/// No thread caches: every operation goes to the shared free list.
struct no_cache {
  static constexpr auto caches = detail::cache_choice::none;
};

/// Shared free list: Lido's own tagged Treiber stack. The default. The alternative, `boost_list`,
/// is in lido/freelist/boost_stack.hpp.
struct treiber_list {
  using stack = detail::treiber_stack<>;
  using growing_stack = detail::growing_treiber_stack<>;
};

/// When exhausted, `acquire` throws `pool_exhausted`; `try_acquire` returns an empty lease. The
/// default.
struct fail {
  [[noreturn]] static void on_exhausted(const exhaustion& what) {
    throw pool_exhausted(what.pool_name, what.capacity, what.in_use);
  }
};

/// When exhausted, the pool adds slots, in segments whose addresses never change, up to
/// `max_capacity` and `max_bytes`; only then does it do as `fail` does. Memory comes from the
/// system by the page and goes back to it with `shrink_to`.
struct grow {
  static constexpr bool grows = true;
  [[noreturn]] static void on_exhausted(const exhaustion& what) { fail::on_exhausted(what); }
};

/// One byte a slot that says whether it is in use, for `for_each_in_use`.
struct track_in_use {
  static constexpr bool tracks = true;
};

/// The default: nothing is tracked.
struct untracked {
  static constexpr bool tracks = false;
};

/// The default: wrong use is undefined behaviour. The alternative, `checked`, is in
/// lido/checked.hpp.
struct unchecked {
  template <std::size_t Size>
  using checks = detail::no_checks;
};

}  // namespace policy

namespace detail {

template <class P>
concept cache_policy = requires {
  { P::caches } -> std::convertible_to<cache_choice>;
};

/// Where a cache policy for tests may send an operation; see lido/testing.hpp.
enum class detour : std::uint8_t { none, past_the_cache, refused };

template <class P>
concept detouring_policy = cache_policy<P> && requires {
  { P::before_acquire() } -> std::same_as<detour>;
  { P::before_release() } -> std::same_as<detour>;
};

template <class P>
concept list_policy = requires {
  requires index_stack<typename P::stack>;
};

template <class P>
concept waiting_policy = requires {
  requires P::waits;
};

/// A list policy for a pool with segments.
template <class P>
concept growing_list_policy = list_policy<P> && requires {
  requires growing_index_stack<typename P::growing_stack>;
};

template <class P>
concept asking_policy = requires(P& policy, const exhaustion& what) {
  policy.on_exhausted(what);
};

template <class P>
concept exhaustion_policy = waiting_policy<P> || asking_policy<P>;

/// An exhaustion policy under which the pool has segments.
template <class P>
concept growing_policy = exhaustion_policy<P> && requires {
  requires P::grows;
};

template <class P>
concept tracking_policy = requires {
  { P::tracks } -> std::convertible_to<bool>;
};

template <class P>
concept check_policy = requires {
  { P::template checks<1>::active } -> std::convertible_to<bool>;
};

template <class P>
concept life_cycle_policy = requires {
  { P::keeps } -> std::convertible_to<bool>;
};

template <class P>
concept pool_policy = cache_policy<P> || list_policy<P> || exhaustion_policy<P> ||
    tracking_policy<P> || check_policy<P> || life_cycle_policy<P>;

// Concepts cannot be template arguments, so each kind has a trait.
template <class P>
struct is_cache_policy : std::bool_constant<cache_policy<P>> {};
template <class P>
struct is_list_policy : std::bool_constant<list_policy<P>> {};
template <class P>
struct is_exhaustion_policy : std::bool_constant<exhaustion_policy<P>> {};
template <class P>
struct is_tracking_policy : std::bool_constant<tracking_policy<P>> {};
template <class P>
struct is_check_policy : std::bool_constant<check_policy<P>> {};
template <class P>
struct is_life_cycle_policy : std::bool_constant<life_cycle_policy<P>> {};

/// The first of `Policies` of the kind that `Is` names, or `Default`.
template <template <class> class Is, class Default, class... Policies>
struct select_policy {
  using type = Default;
};

template <template <class> class Is, class Default, class First, class... Rest>
struct select_policy<Is, Default, First, Rest...>
    : std::conditional_t<Is<First>::value, std::type_identity<First>,
                         select_policy<Is, Default, Rest...>> {
  static_assert(!Is<First>::value || (... && !Is<Rest>::value),
                "lido: two policies of the same kind");
};

}  // namespace detail
}  // namespace lido
