/// @file
/// Public. How an object pool is set up at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lido/allocator/options.hpp"

namespace lido::inline v0 {

class registry;

/// When a pool that keeps its objects makes them. lazy: at the first acquire of each slot. eager:
/// all with the pool, and those of slots that `reserve` adds with them. Slots that an acquire adds
/// get theirs at their first acquire.
enum class creation : std::uint8_t { lazy, eager };

/// Options of an `object_pool`. Use designated initialisers: `{.capacity = 4096, .name = "jobs"}`.
struct object_pool_options {
  /// Slots, exactly: that many objects can be out at once. 1 to 2^32 - 2. With `when_full::grow`
  /// the slots to begin with, rounded up to whole segments; 0 to max_capacity.
  std::size_t capacity = 0;

  /// Copied; appears in errors.
  std::string_view name = "unnamed";

  /// Where the pool can be found by name; null: nowhere. See lido/registry.hpp.
  lido::registry* registry = nullptr;

  /// Most free slots one thread's cache may grow to, 0 to 1022. Others find them when they need to.
  std::size_t max_cached = 512;

  /// `when_full::grow` only, and needed there: most slots, exactly. 1 to 2^32 - 2. Addresses are
  /// reserved for all of them, memory is not.
  std::size_t max_capacity = 0;

  /// `when_full::grow` only: most bytes of slots; bounds the capacity as well, to whole segments.
  /// 0: no bound. Bookkeeping comes on top.
  std::size_t max_bytes = 0;

  /// What `acquire` does when every slot is in use. fail: throws pool_exhausted. wait: waits in
  /// FIFO order. grow: adds slots, in segments whose addresses never change, up to max_capacity and
  /// max_bytes; then as fail.
  lido::when_full when_full = lido::when_full::fail;

  /// `revocable` caches cost no read-modify-write, `locked` ones one for each operation.
  cache_kind caches = cache_kind::revocable;

  /// The shared list of free slots; null: Lido's own. Boost's cannot grow.
  const shared_list* list = nullptr;

  /// `creation::eager` is for pools that keep their objects.
  lido::creation creation = lido::creation::lazy;

  /// Touches the memory of all slots that the pool begins with, and keeps caches so small that they
  /// need no more memory. With `creation::eager`, or in a pool that keeps no objects, no thread
  /// that called `prepare_thread()` then allocates.
  bool warm = false;
};

/// Gives the calling thread now what a thread otherwise gets in its first calls, for which the C
/// library may allocate; see `warm`. Waits while other threads begin or end. No effect in a thread
/// that is ending, or that comes after 4,096 others which live.
void prepare_thread() noexcept;

}  // namespace lido::inline v0
