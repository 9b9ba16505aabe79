/// @file
/// Internal. Which of the policies of an object_pool is of which kind, and what goes with what.
#pragma once

#include "lido/object/life_cycle.hpp"
#include "lido/object/policy.hpp"

namespace lido::detail {

/// One policy of each kind: the one that was named, or the default.
template <class... Policies>
struct chosen_policies {
  static_assert((... && pool_policy<Policies>),
                "lido: object_pool<T, ...> takes policies after T; see lido/object/policy.hpp");

  using cache = typename select_policy<is_cache_policy, policy::revocable_cache, Policies...>::type;
  using list = typename select_policy<is_list_policy, policy::treiber_list, Policies...>::type;
  using exhaustion = typename select_policy<is_exhaustion_policy, policy::fail, Policies...>::type;
  using tracking = typename select_policy<is_tracking_policy, policy::untracked, Policies...>::type;
  using check = typename select_policy<is_check_policy, policy::unchecked, Policies...>::type;
  using life_cycle =
      typename select_policy<is_life_cycle_policy, policy::construct_each_time, Policies...>::type;

  static constexpr bool waits = waiting_policy<exhaustion>;
  static constexpr bool grows = growing_policy<exhaustion>;
  static_assert(!waits || !grows,
                "lido: a pool waits for slots or grows, not both: its exhaustion policy says so of "
                "both");
  static_assert(!grows || growing_list_policy<list>,
                "lido: policy::grow needs policy::treiber_list, whose links can grow");
};

}  // namespace lido::detail
