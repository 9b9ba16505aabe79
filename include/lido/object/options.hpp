/// @file
/// Public. Options of an object pool at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lido/allocator/options.hpp"

namespace lido::inline v0 {

class memory_source;
class registry;

namespace detail {
struct pool_maker;
}  // namespace detail

/// Chooses when a pool that keeps its objects creates them.
///
/// - lazy: the pool creates each object at the first acquire of its slot.
/// - eager: the constructor creates an object in each initial slot, and `reserve` creates one in
///   each slot that it adds. If an acquire adds slots, their objects are created lazily.
enum class creation : std::uint8_t { lazy, eager };

/// Options of an `object_pool`. Use designated initialisers: `{.capacity = 4096, .name = "jobs"}`.
struct object_pool_options {
  /// Exact number of slots, and thus of objects that can be in use at once: 1 to 2^32 - 2. With
  /// `when_full::grow`, this is the number of slots at the start: 0 to max_capacity, rounded up to
  /// whole segments.
  std::size_t capacity = 0;

  /// Name of the pool, for error messages. The pool copies it.
  std::string_view name = "unnamed";

  /// Registry that lists the pool by name; null for none. See lido/registry.hpp.
  lido::registry* registry = nullptr;

  /// Largest number of free slots in one thread's cache, 0 to 1022. Other threads find these slots
  /// when they need them.
  std::size_t max_cached = 512;

  /// Exact limit on the number of slots: 1 to 2^32 - 2. Required for `when_full::grow`, and
  /// rejected otherwise. The pool reserves addresses for all these slots, but no memory.
  /// `object_pool::bytes_needed` helps to choose a value.
  std::size_t max_capacity = 0;

  /// Chooses what `acquire` does if every slot is in use.
  ///
  /// - fail: throws pool_exhausted.
  /// - wait: waits for a free slot, in FIFO order.
  /// - grow: adds slots, up to max_capacity, in segments whose addresses never change. Once the
  ///   pool has max_capacity slots, acts like `fail`.
  lido::when_full when_full = lido::when_full::fail;

  /// Kind of the thread caches. An operation on a `revocable` cache needs no read-modify-write; an
  /// operation on a `locked` cache needs one.
  cache_kind caches = cache_kind::revocable;

  /// The shared list of free slots; null for Lido's own list. Boost's list cannot grow.
  const shared_list* list = nullptr;

  /// Chooses when objects are created. `creation::eager` is only for pools that keep their objects.
  lido::creation creation = lido::creation::lazy;

  /// Touches the memory of all initial slots, and limits caches to memory that is already there.
  /// Once it has called `prepare_thread()`, a thread never allocates when it uses the pool,
  /// provided that the pool has `creation::eager` or keeps no objects. Only `release_all` may
  /// allocate, unless the pool also has `memory`.
  bool warm = false;

  /// Provides the memory for slots, objects and tables; null for memory of the system. All of this
  /// memory is allocated in the constructor, `object_pool::bytes_needed` returns its size, and the
  /// destructor gives it back. Only the table of thread caches comes from the system. Caches are
  /// limited as with `warm`. Rejected together with `list`, and with `when_full::grow`, because
  /// such memory cannot be extended in place. The source must outlive the pool.
  memory_source* memory = nullptr;
};

/// Sets up the calling thread for all pools now. Without this call, the thread's first calls to
/// pools set it up. The C library may allocate memory for the set-up. See
/// `object_pool_options::warm`. Waits while other threads begin or end. Has no effect in a thread
/// that is ending, or if 4,096 other live threads have been set up.
void prepare_thread() noexcept;

}  // namespace lido::inline v0
