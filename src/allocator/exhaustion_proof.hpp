/// @file
/// Internal. The record of a proof that a pool is exhausted.
#pragma once

#include <cstdint>

#include "lido/base/assert.hpp"
#include "lido/base/tuning.hpp"
#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0::detail {

/// Lets acquires fail fast while a proof of exhaustion holds. It consists of one word, with a state
/// and a generation. The state is one of three: no proof, a proof that is being made, or a proof
/// that holds. Each new proof and each withdrawal changes the generation.
///
/// While a proof holds, every slot is held by a caller, by a release that has not finished, or by a
/// thread that is shrinking the pool. It is therefore correct to refuse an acquire at the moment at
/// which it reads the proof.
///
/// Invariants
///  I1 A thread begins a proof after a first look that finds no slot. It keeps the proof after a
///     second look that finds the same state.
///  I2 A thread that makes a free slot visible to others, or is about to open its cache, withdraws
///     the proof before its operation ends. Before the withdrawal, the thread uses a
///     read-modify-write to change a word that both looks read. So either the second look sees the
///     change, or the thread sees the proof (Dekker's pattern).
/// Memory ordering: the two fences (2, 4) belong to that pattern, and to the same pattern for
///   waiters: see I3 of slot_waiter_queue. A refused thread sees what the prover saw (1, 3).
/// Progress: `withdraw_after_change` is lock-free, the rest wait-free.
class exhaustion_proof {
 public:
  using word = std::uint64_t;

  [[nodiscard]] bool holds() const noexcept {
    // (1) - this acquire-load synchronizes-with the release-CAS (3): the reader, too, sees that the
    // slots that a shrinking thread holds are gone
    return (word_.load(std::memory_order_acquire) & state_mask) == proven;
  }

  /// Begins a proof. Called between the two looks. Returns the argument for `keep`.
  [[nodiscard]] word begin() noexcept {
    // relaxed: only a guess, validated by the CAS below
    word seen = word_.load(std::memory_order_relaxed);
    const word begun = next(seen) | pending;
    // relaxed (2x): the fence orders the CAS. If the CAS fails, another thread has begun or
    // withdrawn a proof
    const bool is_begun = word_.compare_exchange_strong(seen, begun, std::memory_order_relaxed,
                                                        std::memory_order_relaxed);
    // (2) - this seq_cst-fence is in one total order with the seq_cst-fence (4). If this fence
    // comes first, the thread at (4) sees the proof, and also the waiter if a waiter is making the
    // proof. If it comes second, the next look sees the change of the thread at (4)
    full_fence();
    return is_begun ? begun : 0;
  }

  void keep(word begun) noexcept {
    LIDO_ASSERT(begun == 0 || (begun & state_mask) == pending,
                "a proof is kept that was not begun");
    if (begun != 0) {
      // (3) - this release-CAS synchronizes-with the acquire-load (1). relaxed on failure: the
      // proof was withdrawn, or another thread has begun a new one
      (void)word_.compare_exchange_strong(begun, begun + (proven - pending),
                                          std::memory_order_release, std::memory_order_relaxed);
    }
  }

  /// Withdraws the proof, if there is one. Requires: the caller has changed a word with a
  /// read-modify-write, as described in I2.
  void withdraw_after_change() noexcept {
    if constexpr (tuning::changes_are_full_fences) {
      light_fence();
    } else {
      // (4) - this seq_cst-fence is in one total order with the seq_cst-fence (2)
      full_fence();
    }
    // relaxed: ordered by the fence; no other memory is read because of it
    word seen = word_.load(std::memory_order_relaxed);
    // relaxed (2x): coherence is enough, since a later refusal reads this value of the word or a
    // later one
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

  /// Returns the word of the next generation, without a proof.
  static constexpr word next(word seen) noexcept { return (seen | state_mask) + 1; }

  atomic<word> word_{0};
};

}  // namespace lido::inline v0::detail
