/// @file
/// Internal. How many resources to make: one function of what there is, asked again after
/// everything that changes it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lido::detail {

struct refill_counts {
  std::uint32_t max_size = 0;
  std::uint32_t min_idle = 0;
  std::uint32_t creating_limit = 0;
  std::uint32_t live = 0;  ///< all that count against max_size, also those in the next two
  std::uint32_t creating = 0;
  std::uint32_t idle = 0;
  std::uint32_t waiters = 0;  ///< those that an idle resource cannot serve
};

/// Creates to begin now. Never so many that max_size or the limit of creates is passed.
[[nodiscard]] constexpr std::uint32_t creates_wanted(const refill_counts& counts) noexcept {
  const auto less = [](std::uint32_t from, std::uint32_t what) {
    return from > what ? from - what : 0;
  };
  const std::uint32_t for_waiters = less(counts.waiters, counts.creating);
  const std::uint32_t for_idle =
      less(counts.min_idle, counts.idle + less(counts.creating, counts.waiters));
  return std::min({for_waiters + for_idle, less(counts.max_size, counts.live),
                   less(counts.creating_limit, counts.creating)});
}

}  // namespace lido::detail
