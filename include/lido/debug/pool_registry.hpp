/// @file
/// Internal. All checked pools that are alive, and the last of those that have ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lido::detail {

class checked_slots;

/// What is known of a pool without touching it.
struct pool_trace {
  const checked_slots* pool = nullptr;
  const std::byte* first = nullptr;
  std::size_t bytes = 0;
  std::size_t stride = 1;
  std::array<char, 48> name{};  ///< cut off if longer

  [[nodiscard]] bool contains(const void* address) const noexcept;
};

/// Longest memory for the dead: where a pool was, until this many others have ended after it, or
/// its addresses belong to a new checked pool.
inline constexpr std::size_t remembered_pools = 64;

/// Both block for a moment. Registering throws std::bad_alloc, and takes what the new pool covers
/// out of the memory of the dead.
void register_checked(const pool_trace& pool);
void unregister_checked(const checked_slots* pool) noexcept;

/// What a report wants to know about a pool and a pointer.
struct pool_lookup {
  bool pool_alive = false;   ///< `pool` is registered
  bool owner_found = false;  ///< some pool has or had the address
  bool owner_alive = false;
  pool_trace self;   ///< of `pool`, alive or remembered; empty name if not
  pool_trace owner;  ///< of the pool that has or had the address
};
[[nodiscard]] pool_lookup look_up(const checked_slots* pool, const void* address) noexcept;

}  // namespace lido::detail
