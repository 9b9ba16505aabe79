/// @file
/// Pools that grow, and pools that may be waited for, beside those of pools.hpp.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "harness/ledger.hpp"
#include "support/preset_pool.hpp"

namespace stress {

/// An object of a page, so that a pool has many segments.
struct page : owned {
  std::array<std::byte, 4096 - sizeof(owned)> rest;
};

/// Begins with no slot.
class growing : public lido::object_pool<page> {
 public:
  explicit growing(std::size_t slots)
      : object_pool({.max_capacity = slots, .when_full = lido::when_full::grow}) {}
};

using blocking = lido::test::preset_pool<owned, lido::pool_traits<owned>, lido::test::waits>;

template <class Pool>
using element = std::remove_pointer_t<decltype(std::declval<Pool&>().try_acquire_ptr())>;
template <class Pool>
inline constexpr bool grows = std::same_as<Pool, growing>;
template <class Pool>
inline constexpr bool blocks = std::same_as<Pool, blocking>;

}  // namespace stress
