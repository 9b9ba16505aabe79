/// @file
/// Internal. A small dense number for each thread, and what happens to it when the thread ends.
///
/// A number indexes the table of caches that every pool has, so a thread finds its cache in any
/// pool with one thread-local load and one addition. Numbers are reused, lowest first. A thread
/// past the table, and one that is already ending, has number 0 and uses the shared path. Several
/// copies of the library in one process assign different numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lido/base/tuning.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

/// Numbers run from 1 to this.
inline constexpr std::uint32_t max_thread_number = tuning::thread_numbers;

/// Bytes between the table entries of two neighbouring numbers: a cache and its first cells.
inline constexpr std::size_t thread_stride = 1024;

/// The `thread_offset` of a thread without a number, and the table address of a pool that takes no
/// hits. The signed sum of address and offset is then negative, also if both are this. So a hit
/// needs no comparison of its own. It is 0 with addresses of 32 bits, all of which may be in use.
inline constexpr std::size_t no_thread_offset = sizeof(void*) < 8 ? 0 : ~(~std::size_t{0} >> 2U);

/// The calling thread's number times `thread_stride`, or `no_thread_offset`.
///
/// Constant-initialised and trivially destructible, so reading it is one load. The number is
/// meaningless without the registry that assigned it. So one file defines both, not inline and
/// visible by default. Linker and loader then treat them alike: each copy of the library has its
/// own pair, or all copies share one.
[[LIDO_TLS_MODEL, LIDO_VISIBLE]] extern constinit thread_local std::size_t thread_offset;
#if LIDO_USES_DLL || LIDO_IS_DLL
[[nodiscard]] std::size_t& thread_offset_of_this_thread() noexcept;
#endif

/// Returns `thread_offset` of the thread that makes this call, wherever it ran a call before.
[[nodiscard, LIDO_FAST_PATH]] inline std::size_t own_raw_thread_offset() noexcept {
  LIDO_RETURN_OWN(std::size_t, thread_offset, "_ZN4lido2v06detail13thread_offsetE");
}

/// Returns the thread's offset, or 0 if the thread has no number.
[[nodiscard, LIDO_FAST_PATH]] inline std::size_t own_thread_offset() noexcept {
  return own_raw_thread_offset() & ~no_thread_offset;
}

/// Gives the calling thread a number if one is free and the thread is not ending; sets
/// `thread_offset`. Returns whether the thread has a number now.
///
/// Thread-safe; never throws. Gives up when another thread uses the registry, unless it `waits`, so
/// a thread suspended there blocks no other. The C library may allocate for it, if 32 or more
/// thread-specific keys were created before the first pool; without memory there is no number.
[[LIDO_SLOW_PATH]] bool assign_thread_number(bool waits = false) noexcept;

/// Returns a lower bound of the numbers that this copy assigns; see number_ranges.
[[nodiscard]] std::uint32_t lowest_thread_number() noexcept;

/// No thread of any copy has ever had a higher number. Few programs have many threads, and these
/// numbers are the lowest. A caller that has seen what a thread did sees the thread's number, too.
[[nodiscard]] std::uint32_t highest_thread_number() noexcept;

class thread_registry;

/// The registry that assigns the numbers. Its address distinguishes copies of the library: code
/// that shares it shares the numbers, too.
[[LIDO_VISIBLE]] LIDO_IMPORTED extern thread_registry thread_numbers;

/// Identifies the copy of the library that made a pool, and the pool, for other copies.
///
/// They may be of another version. So no version changes this class, the note in copies.cpp, or
/// number_ranges. None moves the two words of a slot_allocator at the start of an `object_pool`,
/// nor this behind the second one. In all versions the table of caches has the same size, and a
/// zeroed entry takes no hit. Other kinds of pools have other members before these.
struct pool_origin {
  const void* copy;  ///< address of its `thread_numbers`: no other copy's while it is loaded
  const char* name;
  std::size_t name_size;
};

/// Ends the program with a message that names the pool.
[[noreturn]] void end_for_foreign_pool(const pool_origin& pool) noexcept;

/// Ends the program if another copy of the library made the pool. In compiled functions that begin
/// with this, the copy checked is that of their caller.
[[LIDO_ALWAYS_INLINE]] inline void require_own_copy(const pool_origin& pool) noexcept {
  if (pool.copy != &thread_numbers) [[unlikely]] {
    end_for_foreign_pool(pool);
  }
}

/// Ends the program with a message if this process is a copy, made other than by fork, of one with
/// pools. Then fork handlers have not run, and operations of other threads in them never end.
void require_own_process() noexcept;

class thread_exit_listener;

/// A note that one thread uses what one listener has for it; a link in the list of that thread. If
/// all bytes are zero, the thread does not.
class thread_use {
  friend class thread_registry;
  thread_exit_listener* listener_ = nullptr;
  thread_use* next_ = nullptr;
  thread_use** link_ = nullptr;  ///< the pointer to this
};

/// Links in the list of listeners. A class of its own because of the friend: users' compilers would
/// take it for a class that may delete a listener, and ask for a virtual destructor.
class listener_links {
  friend class thread_registry;
  thread_exit_listener* next_ = nullptr;
  thread_exit_listener** link_ = nullptr;  ///< the pointer to this
};

/// An object with caches that belong to threads. Registered for its whole life.
class thread_exit_listener : public listener_links {
 public:
  thread_exit_listener() = default;
  thread_exit_listener(const thread_exit_listener&) = delete;
  thread_exit_listener& operator=(const thread_exit_listener&) = delete;

  /// Called in an ending thread that has noted its use, before its number can be given to another
  /// thread. The note is erased first. Never runs during `unregister_listener`. Must not throw,
  /// register, unregister or note.
  virtual void on_thread_exit(std::uint32_t /*number*/) noexcept {}

  /// Called in a process that fork has just made. Its only thread is the caller and has number
  /// `survivor` (0: none); all other numbers are then free, and their notes erased. Must not throw,
  /// register, unregister or note.
  virtual void on_fork(std::uint32_t /*survivor*/) noexcept {}

  /// Registers this. Blocking; safe while threads end. After `unregister_listener` no more calls
  /// come, and all notes are erased.
  void register_listener() noexcept;
  void unregister_listener() noexcept;

  /// Notes that the calling thread, which has a number, uses its cache; no effect if already noted.
  /// `use` stays until it is erased. Never waits. Returns false if the registry is busy: the
  /// thread's end would then miss the cache.
  [[nodiscard]] bool try_note_use(thread_use& use) noexcept;

  /// Calls `visit` for every use that may be noted, for `unregister_listener`.
  virtual void visit_uses(void (* /*visit*/)(thread_use&)) noexcept {}

 protected:
  ~thread_exit_listener() = default;
};

}  // namespace lido::inline v0::detail
