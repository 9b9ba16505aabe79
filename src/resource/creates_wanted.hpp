/// @file
/// Internal. How many creates a group could begin now.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lido::inline v0::detail {

/// What a group needs resources for.
struct create_demand {
  std::uint32_t waiters = 0;  ///< waiters that only a create can serve
  std::uint32_t urgent = 0;   ///< waiters that may get a resource from the reserve
  std::uint32_t min_idle = 0;
};

/// The resources that a group has, and those being created for it.
struct create_supply {
  std::uint32_t live = 0;      ///< slots that are not empty
  std::uint32_t for_any = 0;   ///< creates whose resources any waiter may get
  std::uint32_t creating = 0;  ///< creates in progress; for some, the creator keeps the resource
  std::uint32_t idle = 0;      ///< idle resources, including those being checked
  std::uint32_t late = 0;      ///< creates in `for_any` on which waiters no longer rely
};

struct create_limits {
  std::uint32_t max_size = 0;
  std::uint32_t reserve = 0;
  std::uint32_t max_creating = 1;
};

/// Returns `from` minus `what`, or 0 if `what` is greater.
[[nodiscard]] constexpr std::uint32_t less(std::uint32_t from, std::uint32_t what) noexcept {
  return from > what ? from - what : 0;
}

/// Returns how many creates to begin: as many as waiters and `min_idle` need beyond those in
/// progress, within the limits.
[[nodiscard]] constexpr std::uint32_t creates_wanted(const create_demand& demand,
                                                     const create_supply& supply,
                                                     const create_limits& limits) noexcept {
  // Creates in progress count first for waiters, then for `min_idle`.
  const std::uint32_t for_waiters = less(demand.waiters, supply.for_any - supply.late);
  const std::uint32_t spare = less(supply.for_any, demand.waiters);
  const std::uint32_t for_idle = less(demand.min_idle, supply.idle + spare);

  // Urgent waiters may bring the group above max_size, by as many slots as are left in the reserve.
  // Slots that are already above max_size count as taken from the reserve, except one slot for each
  // create whose resource any waiter may get.
  const std::uint32_t of_reserve = less(less(supply.live, limits.max_size), supply.for_any);
  const std::uint32_t extra =
      demand.urgent == 0 ? 0 : (std::min)(limits.reserve, demand.urgent + of_reserve);
  const std::uint32_t quota = less(limits.max_size + extra, supply.live);

  // Urgent waiters do not have to wait until the creates for other waiters have ended, either.
  const std::uint32_t at_once = less(limits.max_creating + demand.urgent, supply.creating);
  return (std::min)({for_waiters + for_idle, quota, at_once});
}

}  // namespace lido::inline v0::detail
