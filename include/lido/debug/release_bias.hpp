/// @file
/// Internal. How the thread that acquired an object may release it without a read-modify-write, and
/// still of any number of releases exactly one counts.
#pragma once

#include "lido/concurrency/asymmetric_fence.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/debug/place.hpp"
#include "lido/debug/slot_record.hpp"

namespace lido::detail {

/// Releases of one pool, biased towards the holders: the thread that acquired an object ends its
/// use by a store, and then looks whether releases are shared. The first thread that releases what
/// another acquired says so and runs a heavy fence. After it, each holder's store is visible, or
/// the holder will see that releases are shared; and who sees it decides by a compare-and-swap.
/// From then on all releases of this pool do. (Biased as the locks of Dice, Huang and Yang, 2001,
/// with the fence of thread_cache.hpp.)
///
/// Progress: wait-free for holders until releases are shared, lock-free then; the heavy fence runs
/// once in a pool, or once more for each thread that comes while it runs.
class release_bias {
 public:
  /// Shared from the beginning where the system lacks membarrier(2).
  release_bias() noexcept : sharing_(heavy_fence_available() ? sharing::none : sharing::complete) {}

  /// Ends a use that the calling thread holds. False: releases are shared, and `settle` decides.
  [[nodiscard, gnu::always_inline]] bool end_alone(slot_record& record, std::uint64_t use,
                                                   place at) noexcept {
    record.publish_end(use);
    light_fence();
    // relaxed: the light fence keeps the order, the heavy fence of others does the rest
    if (hardly_ever(sharing_.load(std::memory_order_relaxed) != sharing::none)) {
      return false;
    }
    record.note_release(use, at);
    return true;
  }

  /// Ends it where releases are shared. False: another thread was faster. `use` is not what the
  /// record says now: if another was, the slot may be in its next use.
  [[nodiscard]] static bool settle(slot_record& record, std::uint64_t use, place at) noexcept;

  /// Ends the use of the slot, as a thread that does not hold it. False: it was not in use, or
  /// another release was faster.
  [[nodiscard]] bool end_as_other(slot_record& record, place at) noexcept;

 private:
  /// none: each object was released by the thread that acquired it, so far. announced: a thread is
  /// about to make all others see that this has ended. complete: they have seen it.
  enum class sharing : std::uint32_t { none, announced, complete };

  void share() noexcept;

  atomic<sharing> sharing_;
};

}  // namespace lido::detail
