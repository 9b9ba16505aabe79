/// @file
/// Internal. What Lido needs from the operating system. Only the code in the folders next to this
/// file depends on a particular system.
///
/// Each folder defines everything below except `static_mutex` and `start_thread`; `linux` and
/// `posix` share the code in `unix`. `generic` builds with any standard library. Where a comment
/// says "generic:" or "posix:", that folder offers less than the others: it refuses, or works in
/// another way.
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

/// Returns the size of a page in bytes, a power of two. generic: alignof(std::max_align_t), so that
/// all memory begins at the start of a page.
[[nodiscard]] std::size_t page_size() noexcept;

/// Reserves a range of addresses that begins at the start of a page. The range has no memory yet.
/// Returns null if the system has no such range. Leak checkers will scan the memory of the range.
/// generic: returns zeroed memory.
[[nodiscard]] void* reserve(std::size_t bytes) noexcept;
void unreserve(void* memory, std::size_t bytes) noexcept;

/// Provides memory for reserved pages. Pages that had no memory before read as zeros. Returns 0, or
/// the error number.
[[nodiscard]] int commit(void* memory, std::size_t bytes) noexcept;

/// Gives the memory of pages back to the system. The pages must be committed before they are used
/// again, and read as zeros from then on. Returns 0, or the error number. generic: only writes
/// zeros.
int discard(void* memory, std::size_t bytes) noexcept;

/// Returns zeroed memory that begins at the start of a cache line; null if there is no memory.
/// Never uses huge pages, so that untouched pages cost nothing. generic: uses calloc, which
/// determines what untouched pages cost.
[[nodiscard]] void* map_zeros(std::size_t bytes) noexcept;
void unmap_zeros(void* memory, std::size_t bytes) noexcept;

/// Makes the memory read as zeros in each process that gets a copy of it, by fork or otherwise.
/// Returns false if the system cannot do so. generic: returns false.
[[nodiscard]] bool clear_in_copies(void* memory, std::size_t bytes) noexcept;

/// Asks the system to use huge pages for the memory. The system may refuse. posix, generic: has no
/// effect.
void advise_huge_pages(void* memory, std::size_t bytes) noexcept;

// ---- waiting
// --------------------------------------------------------------------------------------

/// Registers the process with the kernel for `heavy_fence`; each process must do so once. Returns
/// false if the kernel refuses; in that case, caches must be locked. generic: returns false. posix:
/// returns true only on FreeBSD.
[[nodiscard]] bool register_heavy_fence() noexcept;

/// Makes every thread of this process run a full fence during the call. Returns false if the call
/// failed.
[[nodiscard]] bool heavy_fence() noexcept;

/// Sleeps until another thread calls `unpark(word)`, or until `end`. Does not sleep if `*word`, a
/// std::atomic<std::uint32_t>, differs from `expected`. Comparing and falling asleep are one atomic
/// step, so no wake-up is lost if a thread changes `*word` before it calls `unpark`. May return
/// true spuriously; callers check the word in any case.
///
/// Returns false once `end`, in nanoseconds of std::chrono::steady_clock, has passed. After a
/// wake-up, the result may be true or false. The largest number means that there is no end. With
/// that number, the result is false only if the process is ending and has no other thread. A system
/// that keeps all threads until the process ends never returns false with that number. generic:
/// sleeps for a microsecond, whatever the word is.
[[nodiscard]] bool park(const void* word, std::uint32_t expected, std::int64_t end) noexcept;

/// Wakes one thread that sleeps in `park(word, ...)`. Uses only the address, and does not access
/// the word.
void unpark(const void* word) noexcept;

/// Sleeps for `microseconds` microseconds, or longer by as little as the system allows. Callers
/// measure the time that has passed instead of counting calls.
void nap(std::uint32_t microseconds) noexcept;

// ---- threads
// --------------------------------------------------------------------------------------

/// Calls a function when a thread ends. If the system allows it, the call follows the destructors
/// of all thread_local objects, so that these destructors can still use pools at full speed.
class thread_exit_hook {
 public:
  /// Sets the function for all threads. Returns true if `arm` can succeed. If the system has
  /// refused, the call may be repeated. Requires: all calls pass the same function (some systems
  /// keep the first function, others the last).
  [[nodiscard]] bool prepare(void (*function)(void*)) noexcept;

  /// Makes the calling thread call the function with `argument` when the thread ends. Returns false
  /// if the system refuses. Requires: `argument` is not null.
  [[nodiscard]] bool arm(void* argument) const noexcept;

  /// Returns the argument with which the calling thread was armed. Returns null if the thread was
  /// not armed, or if the call of the function has begun. Requires: `prepare` has succeeded.
  ///
  /// Thread-local variables may not live as long: a compiler that emulates them destroys them
  /// earlier, and a later access then finds a new variable.
  [[nodiscard]] void* armed() const noexcept;

 private:
  void (*function_)(void*) = nullptr;
  std::uintptr_t key_ = 0;  ///< assigned by the system
};

/// A mutex that is constant-initialised and trivially destructible. In some standard libraries,
/// std::mutex is neither, or the child of a fork cannot unlock a mutex that its parent has locked.
///
/// Blocking: a thread that finds the mutex locked sleeps in `park`.
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

/// Makes threads that are started during its lifetime begin with all signals blocked, except those
/// of faults. A signal to the program therefore never reaches a thread of Lido. generic: has no
/// effect.
class signal_guard {
 public:
  signal_guard() noexcept;
  signal_guard(const signal_guard&) = delete;
  signal_guard& operator=(const signal_guard&) = delete;
  ~signal_guard();  // NOLINT(performance-trivially-destructible): trivial on some systems

 private:
  [[maybe_unused]] alignas(8) std::array<std::byte, 128> before_{};  ///< the previous signal mask
};

/// Gives the calling thread a name of up to 15 characters, which debuggers show. generic: has no
/// effect.
void name_thread(const char* name) noexcept;

/// Starts one of Lido's own threads. Throws std::system_error, std::bad_alloc.
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

/// Registers functions for each fork of the process: `before` is called before the fork, then
/// `parent` in the parent and `child` in the child. Each may be null. Returns false if the system
/// refuses. generic: has no effect, since no process forks.
[[nodiscard]] bool on_fork(void (*before)(), void (*parent)(), void (*child)()) noexcept;

/// Returns the id of this process, which is never 0. generic: returns the same number in all
/// processes.
[[nodiscard]] std::uint32_t process_id() noexcept;

// ---- copies of the library
// ------------------------------------------------------------------------

/// Returns the address of a word of this copy of the library. The word is zero at first, and other
/// copies in the process can find it.
[[nodiscard]] void* own_copy_word() noexcept;

/// Calls `visit` with the word of each copy, including copies of other versions. Visits the copies
/// in the order in which the files that contain them were loaded. No copy is unloaded during the
/// call. Locks a mutex of the loader. Requires: the library is being loaded, or the caller holds no
/// mutex that other code may lock at load time. generic: visits only the word of this copy.
void visit_copies(void (*visit)(void* word, void* context), void* context) noexcept;

// ---- sanitizers
// -----------------------------------------------------------------------------------

/// Returns true if the program is built with ThreadSanitizer, but the library is not.
/// ThreadSanitizer must then be told how the library orders the actions of threads. generic:
/// returns false.
[[nodiscard]] bool is_watched_from_outside() noexcept;

/// Tell ThreadSanitizer about an order: what a thread did before `tell_release` happens before what
/// another thread does after `tell_acquire` of the same address. Neither has an effect unless
/// `is_watched_from_outside` returns true.
void tell_release(const void* address) noexcept;
void tell_acquire(const void* address) noexcept;

// ---- reports
// --------------------------------------------------------------------------------------

/// Returns the number under which debuggers list the calling thread. The number is never 0.
/// generic: returns a number that Lido itself assigns. posix: does the same if the system has no
/// function for it.
[[nodiscard]] std::uint32_t thread_id() noexcept;

/// Writes the name of the thread `id` of this process into `name`. Returns the length of the name,
/// or 0 if the thread has none. generic: returns 0. posix: finds only the name of the calling
/// thread.
[[nodiscard]] std::size_t thread_name(std::uint32_t id, std::span<char> name) noexcept;

/// The position of a code address in the file that contains the code, for tools that read the file.
struct code_position {
  const void* module = nullptr;  ///< identifies the file; null if unknown
  std::uintptr_t offset = 0;     ///< the address that the code has in the file
};

/// Finds the position of a code address. generic: the position is unknown.
[[nodiscard]] code_position find_code(const void* address) noexcept;

/// Writes the path of the file that contains the code at `address`, and returns its length; 0 if
/// the path is unknown.
[[nodiscard]] std::size_t module_path(const void* address, std::span<char> path) noexcept;

/// Names on this system, used in the texts of errors and reports.
struct system_names {
  const char* lines_command;  ///< prints source lines, given a path and offsets
  const char* commit;         ///< the system call that `commit` uses
};

[[nodiscard]] system_names names() noexcept;

}  // namespace lido::inline v0::detail::platform
