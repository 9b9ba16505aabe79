/// @file
/// Internal. A small dense number for each thread, and what happens to it when the thread ends.
///
/// A number indexes the table of caches that every pool has, so a thread finds its cache in any
/// pool with one thread-local load and one addition. Numbers are reused, lowest first. A thread
/// past the table, and one that is already ending, has number 0 and uses the shared path. Several
/// copies of the library in one process give different numbers.
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

/// `thread_offset` of a thread without a number, and the address of the table of a pool that takes
/// no hits. The sum of address and offset is negative then, as a number with a sign, also if both
/// are this. So a hit needs no comparison of its own. Where addresses have 32 bits, all of them may
/// be in use, and it is 0.
inline constexpr std::size_t no_thread_offset = sizeof(void*) < 8 ? 0 : ~(~std::size_t{0} >> 2U);

/// The calling thread's number times `thread_stride`, or `no_thread_offset`.
///
/// Constant-initialised and trivially destructible, so reading it is one load. The number is
/// meaningless without the registry that assigned it. So one file defines both, not inline and
/// visible by default. Linker and loader then treat them alike: each copy of the library has its
/// own pair, or all copies share one.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
[[LIDO_TLS_MODEL, LIDO_VISIBLE]] extern constinit thread_local std::size_t thread_offset;
#if LIDO_USES_DLL || LIDO_IS_DLL
[[nodiscard]] std::size_t& thread_offset_of_this_thread() noexcept;
#endif
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

/// `thread_offset` of the thread that makes this call, wherever it ran a call before.
[[nodiscard, LIDO_ALWAYS_INLINE]] inline std::size_t own_raw_thread_offset() noexcept {
  LIDO_RETURN_OWN(std::size_t, thread_offset, "_ZN4lido2v06detail13thread_offsetE");
}

/// The same; 0 if the thread has no number.
[[nodiscard, LIDO_ALWAYS_INLINE]] inline std::size_t own_thread_offset() noexcept {
  return own_raw_thread_offset() & ~no_thread_offset;
}

/// Gives the calling thread a number if one is free and the thread is not ending; sets
/// `thread_offset`. Returns whether the thread has a number now.
///
/// Thread-safe; never throws. Gives up when another thread is at the registry, unless it `waits`,
/// so a thread suspended there holds up no other. The C library may allocate for it, where 32 or
/// more thread-specific keys were created before the first pool; without memory there is no number.
[[LIDO_NOINLINE]] bool assign_thread_number(bool waits = false) noexcept;

/// No thread has a lower number from this copy of the library; see number_ranges.
[[nodiscard]] std::uint32_t lowest_thread_number() noexcept;

/// No thread of any copy has ever had a higher number. Few programs have many threads, and these
/// numbers are the lowest. A caller that has seen what a thread did sees the thread's number, too.
[[nodiscard]] std::uint32_t highest_thread_number() noexcept;

class thread_registry;

/// What gives the numbers. Its address tells copies of the library apart: code that shares it
/// shares the numbers, too.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the one registry
[[LIDO_VISIBLE]] LIDO_IMPORTED extern thread_registry thread_numbers;

/// Which copy of the library made a pool, and what the pool is called, for copies that did not.
///
/// They may be of another version. So no version changes this class, the note in copies.cpp, and
/// number_ranges. None moves the two words of a slot_allocator, which an `object_pool` begins with,
/// nor this behind the second one. In all, the table of caches has the same size, and an entry of
/// zeros takes no hit. Other kinds of pools have other members before these.
struct pool_origin {
  const void* copy;  ///< address of its `thread_numbers`: no other copy's while it is loaded
  const char* name;
  std::size_t name_size;
};

/// Ends the program with a message that names the pool.
[[noreturn]] void end_for_foreign_pool(const pool_origin& pool) noexcept;

/// Ends the program if another copy of the library made the pool. Where functions that are compiled
/// begin with this, it is the copy of their caller that is looked at.
[[LIDO_ALWAYS_INLINE]] inline void require_own_copy(const pool_origin& pool) noexcept {
  if (pool.copy != &thread_numbers) [[unlikely]] {
    end_for_foreign_pool(pool);
  }
}

/// Ends the program with a message if this process is a copy of one with pools that fork has not
/// made. Then fork handlers have not run, and what other threads were doing in the pools never
/// ends.
void require_own_process() noexcept;

class thread_exit_listener;

/// Says that one thread uses what one listener has for it; a link in the list of that thread. All
/// bytes zero: the thread does not.
class thread_use {
  friend class thread_registry;
  thread_exit_listener* listener_ = nullptr;
  thread_use* next_ = nullptr;
  thread_use** link_ = nullptr;  ///< what points to this
};

/// A listener's place among the others. A class of its own because of the friend: users' compilers
/// would take the friend for a class that may delete a listener, and ask for a virtual destructor.
class listener_links {
  friend class thread_registry;
  thread_exit_listener* next_ = nullptr;
  thread_exit_listener** link_ = nullptr;  ///< what points to this
};

/// An object with caches that belong to threads. Registered for its whole life.
class thread_exit_listener : public listener_links {
 public:
  thread_exit_listener() = default;
  thread_exit_listener(const thread_exit_listener&) = delete;
  thread_exit_listener& operator=(const thread_exit_listener&) = delete;

  /// Called in an ending thread that has noted its use, before its number can be given to another
  /// thread. The note is erased first. Never runs beside `unregister_listener`. Must not throw,
  /// register, unregister or note.
  virtual void on_thread_exit(std::uint32_t /*number*/) noexcept {}

  /// Called in a process that fork has just made. Its only thread is the caller and has number
  /// `survivor` (0: none); all other numbers are free afterwards, and their notes erased. Must not
  /// throw, register, unregister or note.
  virtual void on_fork(std::uint32_t /*survivor*/) noexcept {}

  /// Blocking; safe beside ending threads. After `unregister_listener` no more calls come, and all
  /// notes are erased.
  void register_listener() noexcept;
  void unregister_listener() noexcept;

  /// Notes that the calling thread, which has a number, uses its cache; no effect if it is noted.
  /// `use` stays until it is erased. Never waits; false: the registry is busy, so the thread's end
  /// would pass the cache by.
  [[nodiscard]] bool try_note_use(thread_use& use) noexcept;

  /// Calls `visit` for every use that may be noted. For `unregister_listener`.
  virtual void visit_uses(void (* /*visit*/)(thread_use&)) noexcept {}

 protected:
  ~thread_exit_listener() = default;
};

}  // namespace lido::inline v0::detail
