/// @file
/// Internal. The record of a proof that a pool is exhausted.
#pragma once

#include <cstdint>

#include "lido/base/assert.hpp"
#include "lido/base/tuning.hpp"
#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0::detail {

/// Lets acquires fail fast while a proof of exhaustion holds. One word: no proof, one that is being
/// made, or one that holds; and a generation, which each new proof and each withdrawal change.
///
/// While a proof holds, every slot is in a caller's hands, in an unfinished release, or with a
/// thread that shrinks the pool. So it justifies a refusal at the moment in which it is read.
///
/// Invariants
///  I1 A thread begins a proof after a look that finds nothing, and keeps it after one that finds
///     the same.
///  I2 A thread that shows others a free slot, or is about to open its cache, withdraws the proof
///     before its operation ends. It has changed by then, with a read-modify-write, a word that
///     both looks read. So either the second look differs, or the thread sees the proof (Dekker's
///     pattern).
/// Memory ordering: the two fences (2, 4) are that pattern's, and that of waiters: see I3 of
///   slot_waiter_queue. A refused thread sees what the prover saw (1, 3).
/// Progress: `withdraw_after_change` is lock-free, the rest wait-free.
class exhaustion_proof {
 public:
  using word = std::uint64_t;

  [[nodiscard]] bool holds() const noexcept {
    // (1) - this acquire-load synchronizes-with the release-CAS (3): slots that a thread that
    // shrinks the pool has in its hands are gone for the reader, too
    return (word_.load(std::memory_order_acquire) & state_mask) == proven;
  }

  /// Begins a proof, between the two looks. Returns what `keep` needs.
  [[nodiscard]] word begin() noexcept {
    // relaxed: only a guess, validated by the next
    word seen = word_.load(std::memory_order_relaxed);
    const word begun = next(seen) | pending;
    // relaxed (2x): the fence orders it. If it fails, another thread proves or withdraws
    const bool is_begun = word_.compare_exchange_strong(seen, begun, std::memory_order_relaxed,
                                                        std::memory_order_relaxed);
    // (2) - this seq_cst-fence is in one total order with the seq_cst-fence (4). If it comes first,
    // the other thread sees the proof, and a waiter that makes it; if it comes second, the next
    // look sees that thread's change
    full_fence();
    return is_begun ? begun : 0;
  }

  void keep(word begun) noexcept {
    LIDO_ASSERT(begun == 0 || (begun & state_mask) == pending,
                "a proof is kept that was not begun");
    if (begun != 0) {
      // (3) - this release-CAS synchronizes-with the acquire-load (1). relaxed on failure: it was
      // withdrawn, or another thread has begun a new one
      (void)word_.compare_exchange_strong(begun, begun + (proven - pending),
                                          std::memory_order_release, std::memory_order_relaxed);
    }
  }

  /// Withdraws the proof, if there is one. Requires: a read-modify-write as in I2 came before.
  void withdraw_after_change() noexcept {
    if constexpr (tuning::changes_are_full_fences) {
      light_fence();
    } else {
      // (4) - this seq_cst-fence is in one total order with the seq_cst-fence (2)
      full_fence();
    }
    // relaxed: after the fence; nothing is read because of it
    word seen = word_.load(std::memory_order_relaxed);
    // relaxed (2x): coherence is enough, since a later refusal reads this word or a later one
    while ((seen & state_mask) != 0 &&
           !word_.compare_exchange_weak(seen, next(seen), std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
    }
  }

  /// Forgets the proof. Requires: there is no other thread.
  void forget() noexcept {
    // relaxed: there is no other thread
    word_.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr word pending = 1;
  static constexpr word proven = 2;
  static constexpr word state_mask = 3;

  /// Makes the word without a proof, of the next generation.
  static constexpr word next(word seen) noexcept { return (seen | state_mask) + 1; }

  atomic<word> word_{0};
};

}  // namespace lido::inline v0::detail
