/// @file
/// Internal. One slot of a concurrent slot map: which threads are in its value; how far walks go.
#pragma once

#include <cstdint>

#include "lido/base/assert.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"

namespace lido::inline v0::detail {

/// Decides which threads may enter a value. The word has the generation, 48 bits; whether there is
/// a value; whether a thread is alone in it; and the number of readers.
///
/// A value is erased by clearing its `live` bit: from then on no thread can enter. The last thread
/// in the value then has it alone and destroys it. If no thread is in it, the eraser does. Walks
/// visit values without noting it here: see walk_block.hpp.
///
/// Invariants
///  I1 The generation only grows, and only while the slot has no value. A slot whose generations
///     are used up has generation 0 for ever, which no value has.
///  I2 A thread that is alone in the value excludes readers. Both are noted, live or not.
/// Memory ordering: one atomic word decides which thread may touch the value, so what one thread
///   does with it is visible to the next; see the notes. The free list orders a value before the
///   next one in the slot. Changes are seq_cst for the sake of walks: x86-64 and arm64 have no
///   weaker ones that are cheaper.
/// Progress: entering waits for threads in the value, in no order; it sees within a nap that they
///   have left. Readers that overlap without end keep out a thread that wants to be alone. The rest
///   is lock-free.
class slot_state {
 public:
  /// The thread that destroys an erased value.
  enum class fate : std::uint8_t {
    stale,   ///< there is another value, or none
    ours,    ///< no thread is in it: the caller must destroy it
    theirs,  ///< the last thread in it will
  };

  /// Kind of access to a value. The numbers are what it adds to the word.
  enum class access : std::uint64_t { shared = 1, alone = 1U << 14U };

  static constexpr std::uint64_t first_generation = 1;
  static constexpr std::uint64_t last_generation = (std::uint64_t{1} << 48U) - 1;

  [[nodiscard]] std::uint64_t generation() const noexcept {
    // relaxed: a thread that takes a slot gets it from the free list; a walk enters with it, or not
    // at all
    return word_.load(std::memory_order_relaxed) >> generation_shift;
  }

  [[nodiscard]] bool is_live() const noexcept {
    // relaxed: a walk checks if it should try to enter; a visitor has seen what walks did
    return (word_.load(std::memory_order_relaxed) & live) != 0;
  }

  /// Makes the constructed value reachable. Requires: the caller owns the slot.
  [[LIDO_ASSERTS]] void publish() noexcept {
    // relaxed: the caller owns the slot, from the free list
    const std::uint64_t before = word_.load(std::memory_order_relaxed);
    LIDO_ASSERT((before & live) == 0, "a slot gets a second value");
    // (1) - this release-store synchronizes-with the seq_cst-CAS (2), the seq_cst-CAS (4), the
    // acquire-load (5) and the seq_cst-load (6): a thread that enters sees the value
    word_.store(before | live, std::memory_order_release);
  }

  /// Enters when no thread is alone in the value; with `access::alone`, when no thread is in it.
  /// Returns false if there is another value, or none.
  [[nodiscard]] bool enter(std::uint64_t generation, access how) noexcept {
    const std::uint64_t most_others = how == access::alone ? 0 : readers - 1;
    exponential_backoff backoff;
    // relaxed: validated by (2)
    std::uint64_t before = word_.load(std::memory_order_relaxed);
    while (has_value(before, generation)) {
      const bool free = (before & visitors) <= most_others;
      // (2) - this seq_cst-CAS synchronizes-with the release-store (1) and the seq_cst-fetch-sub
      // (3), so all that was done with the value is visible. It is in one total order with
      // walk_block.hpp (1, 8). On failure relaxed: looked at again
      if (free && word_.compare_exchange_weak(before, before + bits(how), std::memory_order_seq_cst,
                                              std::memory_order_relaxed)) {
        return true;
      }
      if (free) {
        continue;
      }
      backoff.wait();
      // relaxed: validated by (2)
      before = word_.load(std::memory_order_relaxed);
    }
    return false;
  }

  /// Leaves the value. Returns true if it was erased and the caller, the last thread in it, must
  /// destroy it.
  [[nodiscard]] bool leave(access how) noexcept {
    // (3) - this seq_cst-fetch-sub synchronizes-with the seq_cst-CAS (2), the seq_cst-fetch-sub
    // (3), the seq_cst-CAS (4) and the seq_cst-load (6). The next thread sees what was done; the
    // one that destroys the value sees what its eraser and other readers did before. It is in one
    // total order with walk_block.hpp (1, 8)
    const std::uint64_t before = word_.fetch_sub(bits(how), std::memory_order_seq_cst);
    return (before & (live | visitors)) == bits(how);
  }

  /// Erases the value: from now on no thread can enter.
  [[nodiscard]] fate erase(std::uint64_t generation) noexcept {
    // relaxed: validated by (4)
    std::uint64_t before = word_.load(std::memory_order_relaxed);
    while (has_value(before, generation)) {
      // (4) - this seq_cst-CAS synchronizes-with the release-store (1) and the seq_cst-fetch-sub
      // (3): the thread that destroys the value sees what all did. It is in one total order with
      // walk_block.hpp (1, 8). On failure relaxed: looked at again
      if (word_.compare_exchange_weak(before, before & ~live, std::memory_order_seq_cst,
                                      std::memory_order_relaxed)) {
        return (before & visitors) != 0 ? fate::theirs : fate::ours;
      }
    }
    return fate::stale;
  }

  /// Ends the generation of a destroyed value. Returns false if the generations up to `last` are
  /// used up, and the slot with them. Requires: `erase` or `leave` left the value to the caller, or
  /// the caller owns the slot and did not publish it.
  [[nodiscard, LIDO_ASSERTS]] bool retire_value(std::uint64_t last) noexcept {
    LIDO_ASSERT(!is_live(), "a value that is not erased is destroyed");
    // relaxed (2x): no thread enters, and the next owner gets the slot from the free list
    const std::uint64_t now = word_.load(std::memory_order_relaxed) >> generation_shift;
    word_.store(now < last ? (now + 1) << generation_shift : 0, std::memory_order_relaxed);
    return now < last;
  }

  [[nodiscard]] bool is_live(std::uint64_t generation) const noexcept {
    // (5) - this acquire-load synchronizes-with the release-store (1): a thread that learns of the
    // value here sees the end raised before, so its walks reach the value
    return has_value(word_.load(std::memory_order_acquire), generation);
  }

  /// Returns true if there is a value that a walk may visit, which changes nothing here.
  [[nodiscard]] bool admits(access how) const noexcept {
    const std::uint64_t others = how == access::alone ? visitors : bits(access::alone);
    // (6) - this seq_cst-load synchronizes-with the release-store (1) and the seq_cst-fetch-sub
    // (3). It is in one total order with walk_block.hpp (1, 8)
    return (word_.load(std::memory_order_seq_cst) & (live | others)) == live;
  }

  /// Links this slot into a list of erased values. Requires: no thread is in this value.
  [[LIDO_ASSERTS]] void set_next(std::uint32_t link) noexcept {
    // relaxed (2x): walk_block.hpp (5) publishes it
    const std::uint64_t before = word_.load(std::memory_order_relaxed);
    LIDO_ASSERT((before & live) == 0, "a value that is not erased is left to a walk");
    word_.store((before & ~visitors) | link, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t next() const noexcept {
    // relaxed: as above
    return static_cast<std::uint32_t>(word_.load(std::memory_order_relaxed) & visitors);
  }

 private:
  static constexpr unsigned generation_shift = 16;
  static constexpr std::uint64_t live = 1U << 15U;
  static constexpr std::uint64_t visitors = live - 1;
  static constexpr std::uint64_t readers = visitors >> 1U;

  static constexpr std::uint64_t bits(access how) noexcept {
    return static_cast<std::uint64_t>(how);
  }

  static bool has_value(std::uint64_t word, std::uint64_t generation) noexcept {
    return (word & live) != 0 && word >> generation_shift == generation;
  }

  atomic<std::uint64_t> word_{first_generation << generation_shift};
};

/// The end of the slots that have ever had a value, where walks stop.
class walk_end {
 public:
  [[nodiscard]] std::uint32_t get() const noexcept {
    // relaxed: raised before the value is published, so a thread that has found the value sees it
    // raised; the slot's own word says what is in a slot
    return end_.load(std::memory_order_relaxed);
  }

  /// Raises the end above `slot`, before its value is published.
  // relaxed (whole function): see get()
  void raise_above(std::uint32_t slot) noexcept {
    std::uint32_t before = end_.load(std::memory_order_relaxed);
    while (before <= slot &&
           !end_.compare_exchange_weak(before, slot + 1, std::memory_order_relaxed,
                                       std::memory_order_relaxed)) {
    }
  }

 private:
  alignas(no_false_sharing) atomic<std::uint32_t> end_{0};
};

}  // namespace lido::inline v0::detail
