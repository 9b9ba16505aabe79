/// @file
/// Internal. The only seam to the memory model: no other file includes <atomic>.
///
/// A model-checking build names its own header in LIDO_ATOMIC_SEAM; that header then supplies
/// `atomic`, `shared_atomic` and the two fences, and runs the same sources under its control.
#pragma once

#include <cstddef>

#ifdef LIDO_ATOMIC_SEAM
#include LIDO_ATOMIC_SEAM
#else

#include <atomic>
#include <cstdint>

namespace lido::inline v0::detail {

using std::atomic;  // not an alias template: GCC and Clang mangle those differently as arguments
using std::atomic_thread_fence;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free,
              "lido: the processor lacks atomics of 64 bits; name a newer one, such as armv7-a");

/// An atomic in a cache line that threads share and modify when their own caches do not suffice.
/// The separate name serves a build that counts read-modify-writes of such lines, because each of
/// them moves the line to another core.
template <class T>
using shared_atomic = atomic<T>;
template <class T>
using unscheduled_atomic = atomic<T>;  ///< for statistics; model checkers do not schedule it

/// The cheap half of the asymmetric fence: the compiler preserves the order of accesses, but the
/// processor need not. Its partner is `heavy_fence`, which makes every running thread order its own
/// accesses once. Linux membarrier(2) documents the pairing.
inline void light_fence() noexcept {
  // (1) - this seq_cst-fence of the compiler alone is in one total order with asymmetric_fence.cpp
  // (1)
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// Orders a thread's earlier accesses against its later reads. If two threads each write, run this
/// fence and then read, at least one of them sees what the other wrote. It costs some 20 cycles;
/// since it is for slow paths, it is not inline. It is the only barrier of the library.
void full_fence() noexcept;

}  // namespace lido::inline v0::detail

#endif

namespace lido::inline v0::detail {

/// Bytes in a cache line. std::hardware_destructive_interference_size would not do: it varies with
/// compiler flags, but headers and the compiled library must agree on the layout.
inline constexpr std::size_t cache_line = 64;

/// Bytes in two cache lines: x86 fetches lines in pairs, and some arm64 cores have lines of 128
/// bytes.
inline constexpr std::size_t no_false_sharing = 128;

/// Returns true if this process can run `heavy_fence`. Asks the kernel once, and registers the
/// process. Thread-safe. Returns false if membarrier(2) with PRIVATE_EXPEDITED is missing or
/// forbidden.
[[nodiscard]] bool heavy_fence_available() noexcept;

/// The expensive half of the asymmetric fence: makes every thread of this process execute a full
/// fence at some point during the call.
///
/// When the call returns, the caller sees everything that a thread did before that point. From
/// that point on, the thread sees everything that the caller did before the call. Costs some
/// hundred nanoseconds and interrupts the processors that run this process. If the kernel refuses,
/// returns false and orders nothing. Thread-safe.
[[nodiscard]] bool heavy_fence() noexcept;

}  // namespace lido::inline v0::detail
