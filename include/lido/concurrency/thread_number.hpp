/// @file
/// Internal. Small dense numbers for threads, and notifications when a thread ends.
///
/// A number indexes the table of caches that every pool has, so a thread finds its cache in any
/// pool with one thread-local load and one addition. Numbers are reused, lowest first. A thread for
/// which the table has no entry, or that is already ending, has number 0 and uses the shared path.
/// Several copies of the library in one process assign different numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lido/base/tuning.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

/// The highest thread number; the lowest is 1.
inline constexpr std::uint32_t max_thread_number = tuning::thread_numbers;

/// Bytes between the table entries of two neighbouring numbers. An entry is a cache with its first
/// cells.
inline constexpr std::size_t thread_stride = 1024;

/// The `thread_offset` of a thread without a number, and the table address of a pool that allows no
/// hits. The signed sum of table address and thread offset is then negative, even if both have this
/// value. So a hit needs no extra comparison. The value is 0 if addresses have 32 bits, since all
/// of them may be in use.
inline constexpr std::size_t no_thread_offset = sizeof(void*) < 8 ? 0 : ~(~std::size_t{0} >> 2U);

/// The calling thread's number times `thread_stride`, or `no_thread_offset`.
///
/// Constant-initialised and trivially destructible, so reading it is one load. The number is
/// meaningless without the registry that assigned it. So one file defines the number and the
/// registry, both with default visibility and neither of them inline. The linker and the loader
/// then treat both alike: either each copy of the library has its own pair, or all copies share one
/// pair.
[[LIDO_TLS_MODEL, LIDO_VISIBLE]] extern constinit thread_local std::size_t thread_offset;
#if LIDO_USES_DLL || LIDO_IS_DLL
[[nodiscard]] std::size_t& thread_offset_of_this_thread() noexcept;
#endif

/// Returns `thread_offset` of the thread that makes this call, even if a fiber made an earlier call
/// in another thread.
[[nodiscard, LIDO_FAST_PATH]] inline std::size_t own_raw_thread_offset() noexcept {
  LIDO_RETURN_OWN(std::size_t, thread_offset, "_ZN4lido2v06detail13thread_offsetE");
}

/// Returns the thread's offset, or 0 if the thread has no number.
[[nodiscard, LIDO_FAST_PATH]] inline std::size_t own_thread_offset() noexcept {
  return own_raw_thread_offset() & ~no_thread_offset;
}

/// Gives the calling thread a number if one is free and the thread is not ending; sets
/// `thread_offset`. Returns true if the thread has a number now.
///
/// Thread-safe; never throws. Gives up if another thread is using the registry, unless `waits` is
/// true. So a thread that is suspended in the registry blocks no other thread. The C library may
/// allocate memory during this call, if 32 or more thread-specific keys were created before the
/// first pool. Without that memory, the thread gets no number.
[[LIDO_SLOW_PATH]] bool assign_thread_number(bool waits = false) noexcept;

/// Returns a lower bound for the numbers that this copy of the library assigns; see number_ranges.
[[nodiscard]] std::uint32_t lowest_thread_number() noexcept;

/// Returns an upper bound: no thread of any copy of the library has ever had a higher number. The
/// bound is usually low: few programs have many threads, and the lowest numbers are used first. If
/// a caller has seen an effect of a thread, the bound covers the number of that thread.
[[nodiscard]] std::uint32_t highest_thread_number() noexcept;

class thread_registry;

/// The registry that assigns the numbers. Its address distinguishes copies of the library: code
/// that shares the registry shares the numbers, too.
[[LIDO_VISIBLE]] LIDO_IMPORTED extern thread_registry thread_numbers;

/// Identifies a pool, and the copy of the library that made it, for other copies of the library.
///
/// The other copies may be of other versions. So no version changes this class, the note in
/// copies.cpp, or number_ranges. No version moves the two words of the slot_allocator at the start
/// of an `object_pool`, or the pool_origin in the object that the second word points to. In all
/// versions, the table of caches has the same size, and a zeroed entry allows no hits. In other
/// kinds of pools, other members precede these two words.
struct pool_origin {
  const void* copy;  ///< address of the copy's `thread_numbers`, unique while the copy is loaded
  const char* name;
  std::size_t name_size;
};

/// Ends the program with a message that names the pool.
[[noreturn]] void end_for_foreign_pool(const pool_origin& pool) noexcept;

/// Ends the program if another copy of the library made the pool. If a compiled function begins
/// with this call, the check concerns the copy that its caller uses.
[[LIDO_ALWAYS_INLINE]] inline void require_own_copy(const pool_origin& pool) noexcept {
  if (pool.copy != &thread_numbers) [[unlikely]] {
    end_for_foreign_pool(pool);
  }
}

/// Ends the program with a message if this process is a copy of a process with pools, but was not
/// made by fork. In such a copy, fork handlers have not run, and operations that other threads had
/// begun in the pools never finish.
void require_own_process() noexcept;

class thread_exit_listener;

/// Notes that a thread uses the cache that a listener keeps for it. The notes of one thread form a
/// list. If all bytes of a note are zero, the thread does not use the cache.
class thread_use {
  friend class thread_registry;
  thread_exit_listener* listener_ = nullptr;
  thread_use* next_ = nullptr;
  thread_use** link_ = nullptr;  ///< the pointer that points to this object
};

/// Links in the list of listeners. The class is separate because of its friend: in
/// thread_exit_listener, compilers of users would assume that the friend may delete a listener, and
/// would ask for a virtual destructor.
class listener_links {
  friend class thread_registry;
  thread_exit_listener* next_ = nullptr;
  thread_exit_listener** link_ = nullptr;  ///< the pointer that points to this object
};

/// An object with caches that belong to threads. It is registered for its whole lifetime.
class thread_exit_listener : public listener_links {
 public:
  thread_exit_listener() = default;
  thread_exit_listener(const thread_exit_listener&) = delete;
  thread_exit_listener& operator=(const thread_exit_listener&) = delete;

  /// Called in an ending thread that has noted its use of this listener, before another thread can
  /// get its number. The note is erased before the call. Never runs during `unregister_listener`.
  /// Must not throw, and must not call the other functions of listeners.
  virtual void on_thread_exit(std::uint32_t /*number*/) noexcept {}

  /// Called in a child process that fork has just made. Its only thread makes the call and has
  /// number `survivor` (0: no number). All other numbers are free by then, and their notes are
  /// erased. Must not throw, and must not call the other functions of listeners.
  virtual void on_fork(std::uint32_t /*survivor*/) noexcept {}

  /// Register this listener, or unregister it. Both are blocking, and safe while threads are
  /// ending. After `unregister_listener`, the listener is no longer called, and all its notes are
  /// erased.
  void register_listener() noexcept;
  void unregister_listener() noexcept;

  /// Notes in `use` that the calling thread uses its cache. Has no effect if that is already noted.
  /// Never waits. Returns false if the registry is busy: without a note, the thread's exit would
  /// miss the cache. Requires: the thread has a number, and `use` lives until it is erased.
  [[nodiscard]] bool try_note_use(thread_use& use) noexcept;

  /// Calls `visit` for every thread_use that may contain a note. Called by `unregister_listener`.
  virtual void visit_uses(void (* /*visit*/)(thread_use&)) noexcept {}

 protected:
  ~thread_exit_listener() = default;
};

}  // namespace lido::inline v0::detail
