/// @file
/// Internal. How many creates a group could begin now.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lido::inline v0::detail {

/// What a group needs resources for.
struct create_demand {
  std::uint32_t waiters = 0;  ///< waiters that only a create may serve
  std::uint32_t urgent = 0;   ///< waiters that may get a resource of the reserve
  std::uint32_t min_idle = 0;
};

/// What a group has, and what is being created for it.
struct create_supply {
  std::uint32_t live = 0;      ///< slots that are not empty
  std::uint32_t for_any = 0;   ///< creates whose resources any waiter may get
  std::uint32_t creating = 0;  ///< creates in progress, including those kept by their creators
  std::uint32_t idle = 0;      ///< idle ones, including those being checked
  std::uint32_t late = 0;      ///< creates of `for_any` that waiters no longer count on
};

struct create_limits {
  std::uint32_t max_size = 0;
  std::uint32_t reserve = 0;
  std::uint32_t max_creating = 1;
};

/// Subtracts, but not below 0.
[[nodiscard]] constexpr std::uint32_t less(std::uint32_t from, std::uint32_t what) noexcept {
  return from > what ? from - what : 0;
}

/// Returns how many creates to begin: what waiters and `min_idle` need and is not in progress, as
/// far as the limits allow.
[[nodiscard]] constexpr std::uint32_t creates_wanted(const create_demand& demand,
                                                     const create_supply& supply,
                                                     const create_limits& limits) noexcept {
  // Creates in progress count first for waiters, then for `min_idle`.
  const std::uint32_t for_waiters = less(demand.waiters, supply.for_any - supply.late);
  const std::uint32_t spare = less(supply.for_any, demand.waiters);
  const std::uint32_t for_idle = less(demand.min_idle, supply.idle + spare);

  // Urgent waiters may bring the group above max_size, by as much as the reserve has left. Those
  // above it already, other than by creates for any waiter, are of the reserve.
  const std::uint32_t of_reserve = less(less(supply.live, limits.max_size), supply.for_any);
  const std::uint32_t extra =
      demand.urgent == 0 ? 0 : (std::min)(limits.reserve, demand.urgent + of_reserve);
  const std::uint32_t quota = less(limits.max_size + extra, supply.live);

  // Urgent waiters do not wait for creates of others either.
  const std::uint32_t at_once = less(limits.max_creating + demand.urgent, supply.creating);
  return (std::min)({for_waiters + for_idle, quota, at_once});
}

}  // namespace lido::inline v0::detail
