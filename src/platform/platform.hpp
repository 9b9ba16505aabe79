/// @file
/// Internal. What Lido needs from the operating system. Only the folders beside this file know one.
///
/// Each folder defines all of it except `static_mutex` and `start_thread`; `linux` and `posix`
/// share the code in `unix`. `generic` builds with any standard library. Where a comment says
/// "generic:" or "posix:", that folder does less: it refuses, or does it in another way.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>

namespace lido::inline v0::detail::platform {

// ---- memory
// ---------------------------------------------------------------------------------------

/// Returns the bytes in a page, a power of two. generic: alignof(std::max_align_t), so that all
/// memory begins at the start of a page.
[[nodiscard]] std::size_t page_size() noexcept;

/// Reserves addresses without memory, at the start of a page; null if there are none. Leak checkers
/// will scan the memory there. generic: zeroed memory.
[[nodiscard]] void* reserve(std::size_t bytes) noexcept;
void unreserve(void* memory, std::size_t bytes) noexcept;

/// Provides memory for pages; new ones read as zeros. Returns 0, or the error number.
[[nodiscard]] int commit(void* memory, std::size_t bytes) noexcept;

/// Gives the memory of pages back to the system. They must be committed before they are used again,
/// and then read as zeros. Returns 0, or the error number. generic: only writes zeros.
int discard(void* memory, std::size_t bytes) noexcept;

/// Maps zeros at the start of a cache line; null if there is no memory. Never on huge pages, so
/// that untouched pages cost nothing. generic: as good as calloc.
[[nodiscard]] void* map_zeros(std::size_t bytes) noexcept;
void unmap_zeros(void* memory, std::size_t bytes) noexcept;

/// Makes a process that gets a copy of this memory, by fork or otherwise, find zeros here. Returns
/// false if that is impossible. generic: false.
[[nodiscard]] bool clear_in_copies(void* memory, std::size_t bytes) noexcept;

/// Asks for huge pages. The system may refuse. posix, generic: nothing.
void advise_huge_pages(void* memory, std::size_t bytes) noexcept;

// ---- waiting
// --------------------------------------------------------------------------------------

/// Asks the kernel for `heavy_fence`, once in a process. Returns false if caches must be locked.
/// generic: false. posix: true on FreeBSD alone.
[[nodiscard]] bool register_heavy_fence() noexcept;

/// Makes every thread of this process run a full fence during the call. Returns false if it failed.
[[nodiscard]] bool heavy_fence() noexcept;

/// Sleeps until `unpark(word)` or `end`, unless `*word`, a std::atomic<std::uint32_t>, differs from
/// `expected`. Compares and falls asleep in one step: a caller of `unpark` changes it before. May
/// return true spuriously; callers check the word in any case.
///
/// Returns false once `end` has passed, in nanoseconds of std::chrono::steady_clock; after a
/// wake-up it may return either. The largest number means never. Then false means that the process
/// is ending and has no other thread; a system that keeps its threads until the end never returns
/// it. generic: a nap.
[[nodiscard]] bool park(const void* word, std::uint32_t expected, std::int64_t end) noexcept;

/// Wakes one thread. Uses only the address.
void unpark(const void* word) noexcept;

/// Sleeps for `microseconds`, or for as little longer as the system can. Callers measure the time
/// that passed, and never count calls.
void nap(std::uint32_t microseconds) noexcept;

// ---- threads
// --------------------------------------------------------------------------------------

/// Calls a function when a thread ends. If the system can, after the destructors of all
/// thread_local objects, so that these may still use pools at full speed.
class thread_exit_hook {
 public:
  /// Sets the function, once; again if it was refused. Returns true if `arm` can succeed.
  [[nodiscard]] bool prepare(void (*function)(void*)) noexcept;

  /// Makes the calling thread call the function with `argument`, not null, when it ends. Returns
  /// false if it will not.
  [[nodiscard]] bool arm(void* argument) const noexcept;

  /// Returns what the calling thread was armed with, until the function is called with it; null if
  /// it was not. Requires: prepared. Thread-local variables need not last as long: a compiler that
  /// emulates them destroys them first, and an access then finds a new one.
  [[nodiscard]] void* armed() const noexcept;

 private:
  void (*function_)(void*) = nullptr;
  std::uintptr_t key_ = 0;  ///< key of the system
};

/// A mutex that is constant-initialised and never destroyed. With some standard libraries
/// std::mutex is neither, or the child of a fork cannot unlock what its parent locked.
///
/// Blocking: a thread that finds it locked sleeps in `park`.
// Source: Ulrich Drepper, Futexes Are Tricky, 2011, mutex 2.
// NOLINTNEXTLINE(cppcoreguidelines-special-member-functions): the destructor stays trivial
class static_mutex {
 public:
  constexpr static_mutex() noexcept = default;
  static_mutex(const static_mutex&) = delete;
  static_mutex& operator=(const static_mutex&) = delete;

  void lock() noexcept;
  [[nodiscard]] bool try_lock() noexcept;
  void unlock() noexcept;

 private:
  std::atomic<std::uint32_t> state_{0};
};

/// Makes threads that are started during its life begin with all signals blocked, except those of
/// faults. So a signal to the program never reaches a thread of Lido. generic: nothing.
class signal_guard {
 public:
  signal_guard() noexcept;
  signal_guard(const signal_guard&) = delete;
  signal_guard& operator=(const signal_guard&) = delete;
  ~signal_guard();  // NOLINT(performance-trivially-destructible): of one system alone

 private:
  [[maybe_unused]] alignas(8) std::array<std::byte, 128> before_{};  ///< the system's signal mask
};

/// Names the calling thread for debuggers, in up to 15 characters. generic: nothing.
void name_thread(const char* name) noexcept;

/// Starts a thread of Lido's own. Throws std::system_error, std::bad_alloc.
template <class Body>
[[nodiscard]] std::thread start_thread(const char* name, Body body) {
  const signal_guard guard;
  return std::thread([name, body = std::move(body)]() mutable {
    name_thread(name);
    body();
  });
}

// ---- processes
// ------------------------------------------------------------------------------------

/// Calls `before` and `parent` around each fork, and `child` in the child; each may be null.
/// Returns false if the system refuses. generic: no process forks.
[[nodiscard]] bool on_fork(void (*before)(), void (*parent)(), void (*child)()) noexcept;

/// Returns the number of the process, not 0. generic: the same in all processes.
[[nodiscard]] std::uint32_t process_id() noexcept;

// ---- copies of the library
// ------------------------------------------------------------------------

/// Returns one word of this copy, zero at first, which other copies in the process find.
[[nodiscard]] void* own_copy_word() noexcept;

/// Calls `visit` with the word of each copy, those of other versions too, in the order in which the
/// objects that contain them were loaded. None is unloaded during the call. Takes a mutex of the
/// loader: call it when the library is loaded, or while holding no mutex that code at load may
/// take. generic: with this copy's alone.
void visit_copies(void (*visit)(void* word, void* context), void* context) noexcept;

// ---- sanitizers
// -----------------------------------------------------------------------------------

/// Returns true if ThreadSanitizer watches the program, but not the library. It must then be told
/// how the library orders what threads do. generic: false.
[[nodiscard]] bool is_watched_from_outside() noexcept;

/// Orders what the caller did before what another thread does after a `tell_acquire` of the same
/// address. Both have no effect unless the program is watched from outside.
void tell_release(const void* address) noexcept;
void tell_acquire(const void* address) noexcept;

// ---- reports
// --------------------------------------------------------------------------------------

/// Returns the number by which debuggers know the calling thread, not 0. generic: a number of its
/// own. posix: the same, if there is no function for it.
[[nodiscard]] std::uint32_t thread_id() noexcept;

/// Writes the name of a thread of this process, and returns its length; 0 if it has none. generic:
/// 0. posix: for the calling thread alone.
[[nodiscard]] std::size_t thread_name(std::uint32_t id, std::span<char> name) noexcept;

/// The position of an address in the file with its code, for tools that read that.
struct code_position {
  const void* module = nullptr;  ///< identifies the file; null if unknown
  std::uintptr_t offset = 0;     ///< the address as it is in the file
};

/// Finds the position of an address. generic: unknown.
[[nodiscard]] code_position find_code(const void* address) noexcept;

/// Writes the path of the file with that code, and returns its length; 0 if it is unknown.
[[nodiscard]] std::size_t module_path(const void* address, std::span<char> path) noexcept;

/// Names on this system, for texts of errors and reports.
struct system_names {
  const char* lines_command;  ///< names lines of source; path and offsets follow it
  const char* commit;         ///< the system call of `commit`
};

[[nodiscard]] system_names names() noexcept;

}  // namespace lido::inline v0::detail::platform
