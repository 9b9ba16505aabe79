/// @file
/// Internal. The expensive half of the asymmetric fence; `light_fence` in atomic.hpp is the other.
#pragma once

namespace lido::detail {

/// Whether this process can run `heavy_fence`. Asks the kernel once, and registers for it.
/// Thread-safe. False where membarrier(2) with PRIVATE_EXPEDITED is missing or forbidden.
[[nodiscard]] bool heavy_fence_available() noexcept;

/// Makes every thread of this process execute a full fence at some point during the call.
///
/// What a thread did before its point is visible to the caller afterwards; what it does after its
/// point sees everything the caller did before the call. Costs some hundred nanoseconds and
/// interrupts the processors that run this process. Returns false, having ordered nothing, if the
/// kernel refused. Thread-safe.
[[nodiscard]] bool heavy_fence() noexcept;

}  // namespace lido::detail
