/// @file
/// Internal. One slot of a concurrent slot map: which threads are in its value; where walks end.
#pragma once

#include <cstdint>

#include "lido/base/assert.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"

namespace lido::inline v0::detail {

/// Decides which threads may enter the value of a slot. One atomic word holds the slot's generation
/// (48 bits), whether the slot has a live value, whether a thread is alone in the value, and the
/// number of readers.
///
/// A thread erases a value by clearing the `live` bit. From then on no thread can enter. The last
/// thread in the value destroys it. If no thread is in the value, the thread that erased it
/// destroys it. Walks visit values without recording it in the word; see walk_block.hpp.
///
/// Invariants
///  I1 The generation only grows, and only while the slot has no value. A slot whose generations
///     are used up has generation 0 permanently, and no value has that generation.
///  I2 A thread that is alone in the value excludes readers. The word records threads in the value,
///     even if the value has been erased.
///  I3 A reserved slot has no value and no owner until a thread claims it. Its word shows
///     both a thread alone in the value and readers, which no other slot has.
/// Memory ordering: one atomic word decides which thread may touch the value. So each thread sees
///   what the previous one did with the value; see the notes. The free list orders the destruction
///   of a value before the construction of the next one in the slot. Changes are seq_cst because
///   walks rely on that order; on x86-64 and arm64, weaker changes would not be cheaper.
/// Progress: `enter` waits until conflicting threads have left the value, and notices after at most
///   one back-off sleep that they have left. Waiting threads enter in no particular order, so a
///   thread that wants to be alone cannot enter as long as readers keep overlapping. Everything
///   else is lock-free.
class slot_state {
 public:
  /// States which thread destroys an erased value.
  enum class fate : std::uint8_t {
    stale,   ///< the slot has another value, or none
    ours,    ///< no thread is in the value: the caller must destroy it
    theirs,  ///< the last thread in the value will destroy it
  };

  /// Kind of access to a value. Entering adds the enumerator's number to the word.
  enum class access : std::uint64_t { shared = 1, alone = 1U << 14U };

  /// What a slot contains while no thread is in a call of the map.
  enum class content : std::uint8_t { nothing, value, reserved };

  static constexpr std::uint64_t first_generation = 1;
  static constexpr std::uint64_t last_generation = (std::uint64_t{1} << 48U) - 1;

  [[nodiscard]] std::uint64_t generation() const noexcept {
    // relaxed: the free list has ordered this load for the owner of the slot; a walk passes the
    // result to enter(), which validates it
    return word_.load(std::memory_order_relaxed) >> generation_shift;
  }

  [[nodiscard]] bool is_live() const noexcept {
    // relaxed: a walk only decides whether to try to enter; a visitor has already seen what walks
    // did
    return (word_.load(std::memory_order_relaxed) & live) != 0;
  }

  /// Makes the constructed value reachable by its handle. Requires: the caller owns the slot.
  [[LIDO_ASSERTS]] void publish() noexcept {
    // relaxed: the caller owns the slot, which it got from the free list
    const std::uint64_t before = word_.load(std::memory_order_relaxed);
    LIDO_ASSERT((before & live) == 0, "a slot gets a second value");
    // (1) - this release-store synchronizes-with the seq_cst-CAS (2), the seq_cst-CAS (4), the
    // acquire-load (5) and the seq_cst-load (6): a thread that enters sees the value
    word_.store(before | live, std::memory_order_release);
  }

  /// Enters the value. With `access::shared`, waits until no thread is alone in the value; with
  /// `access::alone`, waits until no thread is in it. Returns false if the slot has another value,
  /// or none.
  [[nodiscard]] bool enter(std::uint64_t generation, access how) noexcept {
    const std::uint64_t most_others = how == access::alone ? 0 : readers - 1;
    exponential_backoff backoff;
    // relaxed: validated by (2)
    std::uint64_t before = word_.load(std::memory_order_relaxed);
    while (has_value(before, generation)) {
      const bool free = (before & visitors) <= most_others;
      // (2) - this seq_cst-CAS synchronizes-with the release-store (1) and the seq_cst-fetch-sub
      // (3), so all that was done with the value is visible. It is in one total order with
      // walk_block.hpp (1, 8). On failure relaxed: the loop checks the word again
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

  /// Leaves the value. Returns true if the value has been erased and the caller, as the last thread
  /// in it, must destroy it.
  [[nodiscard]] bool leave(access how) noexcept {
    // (3) - this seq_cst-fetch-sub synchronizes-with the seq_cst-CAS (2), the seq_cst-fetch-sub
    // (3), the seq_cst-CAS (4) and the seq_cst-load (6). The next thread sees what this one did.
    // The thread that destroys the value sees what the eraser and other readers did before. The
    // operation is in one total order with walk_block.hpp (1, 8)
    const std::uint64_t before = word_.fetch_sub(bits(how), std::memory_order_seq_cst);
    return (before & (live | visitors)) == bits(how);
  }

  /// Erases the value, so that no more threads can enter. Returns which thread must destroy the
  /// value.
  [[nodiscard]] fate erase(std::uint64_t generation) noexcept {
    // relaxed: validated by (4)
    std::uint64_t before = word_.load(std::memory_order_relaxed);
    while (has_value(before, generation)) {
      // (4) - this seq_cst-CAS synchronizes-with the release-store (1) and the seq_cst-fetch-sub
      // (3): the thread that destroys the value sees what all threads did. It is in one total order
      // with walk_block.hpp (1, 8). On failure relaxed: the loop checks the word again
      if (word_.compare_exchange_weak(before, before & ~live, std::memory_order_seq_cst,
                                      std::memory_order_relaxed)) {
        return (before & visitors) != 0 ? fate::theirs : fate::ours;
      }
    }
    return fate::stale;
  }

  /// Ends the generation of a destroyed value. Returns false if the generations up to `last` are
  /// used up; the slot must then not be used again. Requires: `erase` or `leave` told the caller to
  /// destroy the value, or the caller owns the slot and has not published the value.
  [[nodiscard, LIDO_ASSERTS]] bool retire_value(std::uint64_t last) noexcept {
    LIDO_ASSERT(!is_live(), "a value that is not erased is destroyed");
    // relaxed (2x): no thread can enter, and the next owner gets the slot from the free list
    const std::uint64_t now = word_.load(std::memory_order_relaxed) >> generation_shift;
    word_.store(now < last ? (now + 1) << generation_shift : 0, std::memory_order_relaxed);
    return now < last;
  }

  [[nodiscard]] bool is_live(std::uint64_t generation) const noexcept {
    // (5) - this acquire-load synchronizes-with the release-store (1): a thread that learns of the
    // value here also sees the raised walk_end, so its walks reach the value
    return has_value(word_.load(std::memory_order_acquire), generation);
  }

  /// Returns true if a walk may visit the value now. The walk does not change the word.
  [[nodiscard]] bool admits(access how) const noexcept {
    const std::uint64_t others = how == access::alone ? visitors : bits(access::alone);
    // (6) - this seq_cst-load synchronizes-with the release-store (1) and the seq_cst-fetch-sub
    // (3). It is in one total order with walk_block.hpp (1, 8)
    return (word_.load(std::memory_order_seq_cst) & (live | others)) == live;
  }

  /// Reserves the slot: any thread may claim it under its present generation. Requires: the caller
  /// owns the slot.
  [[LIDO_ASSERTS]] void reserve() noexcept {
    // relaxed: the caller owns the slot
    const std::uint64_t before = word_.load(std::memory_order_relaxed);
    LIDO_ASSERT((before & (live | visitors)) == 0, "a slot with a value is reserved");
    // (7) - this release-store synchronizes-with the acquire-CAS (8): the thread that claims the
    // slot sees what earlier owners did in it
    word_.store(before | visitors, std::memory_order_release);
  }

  /// Claims a reserved slot. Returns false if the slot is not reserved under `generation`. If it
  /// returns true, the caller owns the slot.
  [[nodiscard]] bool claim(std::uint64_t generation) noexcept {
    const std::uint64_t owned = generation << generation_shift;
    std::uint64_t reserved = owned | visitors;
    // relaxed: validated by (8); a failed look leaves the cache line shared
    return generation <= last_generation && word_.load(std::memory_order_relaxed) == reserved &&
           // (8) - this acquire-CAS synchronizes-with the release-store (7). On failure relaxed:
           // nothing is read
           word_.compare_exchange_strong(reserved, owned, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  /// Returns what the slot contains. Requires: no other thread is in a call of the map.
  [[nodiscard]] content contents() const noexcept {
    // relaxed: no other thread changes the word
    const std::uint64_t now = word_.load(std::memory_order_relaxed);
    const content without_value =
        (now & visitors) == visitors ? content::reserved : content::nothing;
    return (now & live) != 0 ? content::value : without_value;
  }
  /// Sets the generation and the content. Requires: no other thread is in a call of the map.
  void restore(std::uint64_t generation, content what) noexcept {
    const std::uint64_t without_value = what == content::reserved ? visitors : 0;
    // relaxed: no other thread reads the word before it synchronizes with this one
    word_.store(generation << generation_shift | (what == content::value ? live : without_value),
                std::memory_order_relaxed);
  }

  /// Links this slot to the next one in a list of erased values. Requires: no thread is in the
  /// value of this slot.
  [[LIDO_ASSERTS]] void set_next(std::uint32_t link) noexcept {
    // relaxed (2x): walk_block.hpp (5) publishes the link
    const std::uint64_t before = word_.load(std::memory_order_relaxed);
    LIDO_ASSERT((before & live) == 0, "a value that is not erased is left to a walk");
    word_.store((before & ~visitors) | link, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t next() const noexcept {
    // relaxed: as in set_next
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

/// The end of the slots that have ever had a handle. Walks and snapshots stop there.
class walk_end {
 public:
  [[nodiscard]] std::uint32_t get() const noexcept {
    // relaxed: the end is raised before a value is published, so a thread that has found the value
    // sees the raised end. The slot's own word shows what is in the slot
    return end_.load(std::memory_order_relaxed);
  }

  /// Raises the end above `slot`. Called before the value in `slot` is published.
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
