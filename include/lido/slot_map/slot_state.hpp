/// @file
/// Internal. The word that says what a slot of a concurrent slot map holds and who is with it.
#pragma once

#include <cstdint>

#include "lido/base/mutation.hpp"
#include "lido/base/tuning.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"

namespace lido::detail {

/// Generation, 48 bits; whether there is a value; whether someone is alone with it; whether the
/// slot is claimed by who erased it; how many read.
///
/// A value is erased by taking its `live` bit: from then on nobody enters. Whoever is the last to
/// be with it then, the eraser if nobody else, has it alone and ends it.
///
/// Invariants
///  I1 The generation only grows, and only while the slot has no value. A slot whose generations
///     are used up has generation 0 for ever, which no value has.
///  I2 `alone` excludes readers. Both count those who are with the value, live or not.
/// Memory ordering: an atomic word alone decides who may touch the value, so what one does with it
///   is visible to the next; see the notes. Between a value and the next one in the slot the free
///   list orders.
/// Progress: to enter waits for those who are with the value, and nobody stands in line: readers
///   who overlap without end keep out who wants to be alone. The rest is lock-free.
class slot_state {
 public:
  /// What becomes of an erased value.
  enum class fate : std::uint8_t {
    stale,   ///< it was another one, or none
    ours,    ///< nobody is with it: the caller has to end it
    theirs,  ///< the last one who is with it will
  };

  static constexpr std::uint64_t first_generation = 1;
  static constexpr std::uint64_t last_generation = (std::uint64_t{1} << 48U) - 1;

  [[nodiscard]] std::uint64_t generation() const noexcept {
    // relaxed: who takes a slot gets it from the free list; who walks enters with it, or does not
    return word_.load(std::memory_order_relaxed) >> generation_shift;
  }

  [[nodiscard]] bool is_live() const noexcept {
    // relaxed: a walker looks whether to try to enter
    return (word_.load(std::memory_order_relaxed) & live) != 0;
  }

  /// The value is made. Requires: the slot is the caller's.
  void publish() noexcept {
    if (broken(mutation::erase_beside_visit)) {
      // relaxed: as in retire_value, a store would lose the leave of who is with the value still
      word_.fetch_or(live, std::memory_order_relaxed);
      return;
    }
    // relaxed: the slot is the caller's, from the free list
    const std::uint64_t before = word_.load(std::memory_order_relaxed);
    // (1) - this release-store synchronizes-with the acquire-CAS (2, 3), the acq_rel-CAS (9) and
    // the acquire-load (8): who enters sees the value
    word_.store(before | live, std::memory_order_release);
  }

  /// Waits until nobody is with the value. False: it is another one, or none.
  [[nodiscard]] bool enter_alone(std::uint64_t generation) noexcept {
    patience waiting;
    // relaxed: validated by (2)
    std::uint64_t before = word_.load(std::memory_order_relaxed);
    while (has_value(before, generation)) {
      if ((before & (alone | readers)) != 0) {
        waiting.wait();
        // relaxed: validated by (2)
        before = word_.load(std::memory_order_relaxed);
        continue;
      }
      schedule_point();
      // (2) - this acquire-CAS synchronizes-with the release-store (1) and the acq_rel-fetch-sub
      // (4, 5), so all that was done with the value is visible. On failure relaxed: looked at again
      if (word_.compare_exchange_weak(before, before | alone, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// Waits until nobody is alone with the value. False as above.
  [[nodiscard]] bool enter_shared(std::uint64_t generation) noexcept {
    patience waiting;
    // relaxed: validated by (3)
    std::uint64_t before = word_.load(std::memory_order_relaxed);
    while (has_value(before, generation)) {
      if ((before & alone) != 0 || (before & readers) == readers) {
        waiting.wait();
        // relaxed: validated by (3)
        before = word_.load(std::memory_order_relaxed);
        continue;
      }
      schedule_point();
      // (3) - this acquire-CAS synchronizes-with the release-store (1) and the acq_rel-fetch-sub
      // (4), so the value is visible as the last one left it. On failure relaxed: looked at again
      if (word_.compare_exchange_weak(before, before + one_reader, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// True: the value was erased meanwhile and the caller, who was the last, has to end it.
  [[nodiscard]] bool leave_alone() noexcept {
    // (4) - this acq_rel-fetch-sub synchronizes-with the acquire-CAS (2, 3) and the acq_rel-CAS
    // (9): the next one sees what was done, and who has to end the value what its eraser did before
    const std::uint64_t before = word_.fetch_sub(alone, std::memory_order_acq_rel);
    return (before & live) == 0 && !broken(mutation::leave_doomed);
  }
  [[nodiscard]] bool leave_shared() noexcept {
    // (5) - this acq_rel-fetch-sub synchronizes-with the acquire-CAS (2), the acq_rel-fetch-sub (5)
    // and the acq_rel-CAS (9): reading is over before the value is changed or ended
    const std::uint64_t before = word_.fetch_sub(one_reader, std::memory_order_acq_rel);
    return (before & (live | readers)) == one_reader;
  }

  /// From now on nobody enters.
  [[nodiscard]] fate erase(std::uint64_t generation) noexcept { return erase(generation, 0); }
  /// The same, and the slot is to be the caller's: if fate is theirs, wait_for_end tells when.
  [[nodiscard]] fate erase_and_claim(std::uint64_t generation) noexcept {
    return erase(generation, claimed);
  }

  /// Whether who erased the value wants its slot. Requires: the value is erased, and the caller the
  /// last one with it.
  [[nodiscard]] bool is_claimed() const noexcept {
    // relaxed: who found out that it is the last one has seen the erase in this word
    return (word_.load(std::memory_order_relaxed) & claimed) != 0 &&
           !broken(mutation::claim_unread);
  }

  /// The value is ended. False: the generations up to `last` are used up, and the slot with them.
  /// Requires: as `erase` and `leave_...` say, or the slot is the caller's and was not published.
  [[nodiscard]] bool retire_value(std::uint64_t last) noexcept {
    if (broken(mutation::erase_beside_visit)) {
      // relaxed: with a store, those who are with the value would be counted wrongly, and the
      // threads of a broken build would wait for ever before anything is noticed
      word_.fetch_add(std::uint64_t{1} << generation_shift, std::memory_order_relaxed);
      return true;
    }
    // relaxed: nobody enters, and who takes the slot next gets it from the free list, or by (7)
    const std::uint64_t now = word_.load(std::memory_order_relaxed) >> generation_shift;
    const std::uint64_t next = broken(mutation::same_state_generation) ? now : now + 1;
    // (6) - this release-store synchronizes-with the acquire-load (7): who has claimed the slot
    // sees the end of the value
    word_.store(now < last ? next << generation_shift : 0, std::memory_order_release);
    return now < last;
  }

  /// Waits until the value of a claimed slot is ended. False: so is the slot.
  [[nodiscard]] bool wait_for_end(std::uint64_t generation) const noexcept {
    patience waiting;
    for (;;) {
      // (7) - this acquire-load synchronizes-with the release-store (6), as it says there
      const std::uint64_t now = word_.load(std::memory_order_acquire) >> generation_shift;
      if (now != generation) {
        return now != 0;
      }
      waiting.wait();
    }
  }

  [[nodiscard]] bool is_live(std::uint64_t generation) const noexcept {
    // (8) - this acquire-load synchronizes-with the release-store (1): who was told that there is a
    // value walks as far as that
    return has_value(word_.load(std::memory_order_acquire), generation);
  }

 private:
  static constexpr unsigned generation_shift = 16;
  static constexpr std::uint64_t live = 1U << 15U;
  static constexpr std::uint64_t alone = 1U << 14U;
  static constexpr std::uint64_t claimed = 1U << 13U;
  static constexpr std::uint64_t readers = claimed - 1;
  static constexpr std::uint64_t one_reader = 1;

  fate erase(std::uint64_t generation, std::uint64_t claim) noexcept {
    // relaxed: validated by (9)
    std::uint64_t before = word_.load(std::memory_order_relaxed);
    while (has_value(before, generation)) {
      schedule_point();
      // (9) - this acq_rel-CAS synchronizes-with the release-store (1) and the acq_rel-fetch-sub
      // (4, 5): who ends the value sees what all did. On failure relaxed: looked at again
      if (word_.compare_exchange_weak(before, (before & ~live) | claim, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
        const bool visited = (before & (alone | readers)) != 0;
        return visited && !broken(mutation::erase_beside_visit) ? fate::theirs : fate::ours;
      }
    }
    // Nobody else takes what is claimed, unless this build is wrong on purpose.
    const bool taken = (before & claim) != 0 && before >> generation_shift == generation;
    return taken && broken(mutation::claim_ignored) ? fate::theirs : fate::stale;
  }

  static bool has_value(std::uint64_t word, std::uint64_t generation) noexcept {
    return (word & live) != 0 &&
           (word >> generation_shift == generation || broken(mutation::enter_anyway));
  }

  /// Between two looks at a value that others are with: pauses, and lets others run after a while.
  class patience {
   public:
    void wait() noexcept {
      if (waits_ < tuning::waits_before_yield) {
        ++waits_;
        backoff_.pause();
      } else {
        yield_thread();
      }
    }

   private:
    exponential_backoff backoff_;
    int waits_ = 0;
  };

  atomic<std::uint64_t> word_{first_generation << generation_shift};
};

}  // namespace lido::detail
