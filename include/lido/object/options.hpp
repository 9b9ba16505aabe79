/// @file
/// Public. Options of an object pool at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lido/allocator/options.hpp"

namespace lido::inline v0 {

class registry;

/// The time at which a pool that keeps its objects makes them.
///
/// - lazy: at the first acquire of each slot.
/// - eager: all with the pool, and in `reserve` those of the slots that it adds. Slots that an
///   acquire adds get theirs at their first acquire.
enum class creation : std::uint8_t { lazy, eager };

/// Options of an `object_pool`. Use designated initialisers: `{.capacity = 4096, .name = "jobs"}`.
struct object_pool_options {
  /// Number of slots, exactly: that many objects can be in use at once. 1 to 2^32 - 2. With
  /// `when_full::grow` the slots at the start, rounded up to whole segments; 0 to max_capacity.
  std::size_t capacity = 0;

  /// Name of the pool, copied; appears in errors.
  std::string_view name = "unnamed";

  /// Registry that lists the pool by name; null for none. See lido/registry.hpp.
  lido::registry* registry = nullptr;

  /// Most free slots in one thread's cache, 0 to 1022. Other threads find them when they need to.
  std::size_t max_cached = 512;

  /// Most slots, exactly, for `when_full::grow` only, and needed there. 1 to 2^32 - 2. Addresses
  /// are reserved for all of them, memory is not. `object_pool::bytes_needed` helps to choose it.
  std::size_t max_capacity = 0;

  /// Action of `acquire` when every slot is in use.
  ///
  /// - fail: throws pool_exhausted.
  /// - wait: waits in FIFO order.
  /// - grow: adds slots, in segments whose addresses never change, up to max_capacity; then as
  ///   fail.
  lido::when_full when_full = lido::when_full::fail;

  /// Kind of caches: `revocable` ones need no read-modify-write, `locked` ones one per operation.
  cache_kind caches = cache_kind::revocable;

  /// The shared list of free slots; null for Lido's own. Boost's cannot grow.
  const shared_list* list = nullptr;

  /// Time at which objects are made; `creation::eager` is for pools that keep them.
  lido::creation creation = lido::creation::lazy;

  /// Touches the memory of all slots that the pool begins with, and keeps caches so small that they
  /// need no more memory. With `creation::eager`, or in a pool that keeps no objects, no thread
  /// that called `prepare_thread()` then allocates.
  bool warm = false;
};

/// Sets up the calling thread now, as its first calls otherwise would; the C library may allocate
/// for that. See `warm`. Waits while other threads begin or end. No effect in a thread that is
/// ending, or if 4,096 other live threads have been set up.
void prepare_thread() noexcept;

}  // namespace lido::inline v0
