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

using std::atomic;  // as an alias's argument it has one name with GCC and another with Clang
using std::atomic_thread_fence;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free,
              "lido: the processor lacks atomics of 64 bits; name a newer one, such as armv7-a");

/// An atomic whose line threads share and modify past their caches. The name is for a build that
/// counts read-modify-writes of such lines: each moves the line to another core.
template <class T>
using shared_atomic = atomic<T>;
template <class T>
using unscheduled_atomic = atomic<T>;  ///< one for statistics: no step of a model checker

/// The cheap half of the asymmetric fence: the compiler preserves the order, the processor need
/// not. Its partner is `heavy_fence`, which makes every running thread order its own accesses once.
/// Linux membarrier(2) documents the pairing.
inline void light_fence() noexcept {
  // (1) - this seq_cst-fence of the compiler alone is in one total order with asymmetric_fence.cpp
  // (1)
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// Orders what a thread did before against what it reads afterwards: of two threads that each run
/// one in between, at least one sees what the other did. Some 20 cycles; for slow paths, hence not
/// inline, and the only barrier of the library.
void full_fence() noexcept;

}  // namespace lido::inline v0::detail

#endif

namespace lido::inline v0::detail {

/// Bytes in a line, not std::hardware_destructive_interference_size: that varies with compiler
/// flags, and this is part of the layout that a header and the compiled library share.
inline constexpr std::size_t cache_line = 64;

/// Bytes in two lines: x86 fetches lines in pairs, and some arm64 cores have lines of 128 bytes.
inline constexpr std::size_t no_false_sharing = 128;

/// Returns true if this process can run `heavy_fence`. Asks the kernel once, and registers for it.
/// Thread-safe. False if membarrier(2) with PRIVATE_EXPEDITED is missing or forbidden.
[[nodiscard]] bool heavy_fence_available() noexcept;

/// The expensive half of the asymmetric fence: makes every thread of this process execute a full
/// fence at some point during the call.
///
/// The caller then sees what a thread did before its point; what a thread does after its point sees
/// everything the caller did before the call. Costs some hundred nanoseconds and interrupts the
/// processors that run this process. Returns false, having ordered nothing, if the kernel refused.
/// Thread-safe.
[[nodiscard]] bool heavy_fence() noexcept;

}  // namespace lido::inline v0::detail
