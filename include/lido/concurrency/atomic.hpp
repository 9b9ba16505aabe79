/// @file
/// Internal. The one seam to the memory model: the only file that includes <atomic>.
///
/// A model-checking build names its own header in LIDO_ATOMIC_SEAM; that header then supplies
/// `atomic`, `shared_atomic` and the two fences, and runs the very same sources under its control.
#pragma once

#ifdef LIDO_ATOMIC_SEAM
#include LIDO_ATOMIC_SEAM
#else

#include <atomic>

namespace lido::detail {

using std::atomic;  // an alias as an argument has one name with GCC and another one with Clang
using std::atomic_thread_fence;

/// An atomic whose line threads share, and change past their caches. The name is for a build that
/// counts read-modify-writes of such lines: each moves the line to another core.
template <class T>
using shared_atomic = atomic<T>;

/// The cheap half of the asymmetric fence: the compiler keeps the order, the processor need not.
/// Its partner is `heavy_fence` (asymmetric_fence.hpp), which makes every running thread order its
/// own accesses once. Linux membarrier(2) documents the pairing.
inline void light_fence() noexcept {
  // (1) - this seq_cst-fence of the compiler alone is in one total order with asymmetric_fence.cpp
  // (1)
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// Orders what a thread did before against what it looks at afterwards: of two threads that each
/// run one in between, at least one sees what the other did. Some 20 cycles; for slow paths, hence
/// not inline, and the only barrier of the library.
void full_fence() noexcept;

}  // namespace lido::detail

#endif
