/// @file
/// Internal. The word that decides how one wait ends.
#pragma once

#include <cstdint>

#include "lido/base/assert.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/parking.hpp"

namespace lido::inline v0::detail {

/// A word on which a thread sleeps; see `unpark`.
using sleep_word = const atomic<std::uint32_t>*;

/// The state of one wait: waiting (awake), asleep, given or cancelled.
///
/// A compare-and-swap on the word decides how the wait ends. The compare-and-swap is made by the
/// giver of an item, by the waiter after its deadline, or by a thread that cancels the wait. An
/// item is therefore given exactly if the waiter knows that it holds the item. A cancelled waiter
/// is given nothing.
///
/// Memory ordering: the waiter sees everything that was done to the item before it was given (1,
///   2).
/// Progress: everything except `sleep` is lock-free.
class wait_word {
 public:
  /// The state that `give` or `cancel` found: the wait had already ended, or the waiter was awake
  /// or asleep.
  enum class ending : std::uint8_t { too_late, awake, asleep };

  [[nodiscard]] ending give() noexcept { return end(given_state); }
  /// Cancels the wait. The waiter reads `cause` afterwards. Requires: `cause` is below 2^24.
  [[nodiscard, LIDO_ASSERTS]] ending cancel(std::uint32_t cause) noexcept {
    LIDO_ASSERT(cause < 1U << (32 - cause_shift), "a cause that the word of a wait cannot store");
    return end(cancelled_state | cause << cause_shift);
  }

  [[nodiscard]] bool open() const noexcept { return is_open(bits()); }
  [[nodiscard]] bool given() const noexcept { return (bits() & state_mask) == given_state; }
  /// Returns true if the waiter seems to be asleep. The answer may be out of date.
  // relaxed (whole function): a hint
  [[nodiscard]] bool asleep() const noexcept {
    return word_.load(std::memory_order_relaxed) == asleep_state;
  }
  /// Returns the cause of the cancellation. Requires: the wait was cancelled.
  [[nodiscard, LIDO_ASSERTS]] std::uint32_t cause() const noexcept {
    const std::uint32_t seen = bits();
    LIDO_ASSERT((seen & state_mask) == cancelled_state,
                "the cause of a wait that is not cancelled");
    return seen >> cause_shift;
  }

  /// Note that the waiter is about to sleep, or that it is awake again. Only the waiter may call
  /// these functions.
  void begin_sleep() noexcept { (void)swap(waiting_state, asleep_state); }
  void end_sleep() noexcept { (void)swap(asleep_state, waiting_state); }
  /// Sleeps until the wait ends or another thread calls `poke`; may wake spuriously. Returns false
  /// if `until` has passed. Requires: `begin_sleep` was called.
  [[nodiscard]] bool sleep(const deadline& until) const noexcept {
    return park(word_, asleep_state, until);
  }
  /// Makes a sleeping waiter check again, without ending its wait. Returns true if the caller must
  /// wake the waiter.
  [[nodiscard]] bool poke() noexcept { return swap(asleep_state, waiting_state); }
  /// Returns the address for `unpark`. The waiter itself may no longer exist when `unpark` is
  /// called.
  [[nodiscard]] sleep_word address() const noexcept { return &word_; }

  /// Begins another wait. Requires: no other thread can reach the waiter.
  // relaxed (whole function): the mutex of the queue publishes the word
  void reopen() noexcept { word_.store(waiting_state, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t waiting_state = 0;
  static constexpr std::uint32_t asleep_state = 1;
  static constexpr std::uint32_t given_state = 2;
  static constexpr std::uint32_t cancelled_state = 3;
  static constexpr std::uint32_t state_mask = 0xFF;
  static constexpr unsigned cause_shift = 8;

  [[nodiscard]] static constexpr bool is_open(std::uint32_t bits) noexcept {
    return bits == waiting_state || bits == asleep_state;
  }

  [[nodiscard]] std::uint32_t bits() const noexcept {
    // (1) - this acquire-load synchronizes-with the release-CAS (2), so the item is visible
    return word_.load(std::memory_order_acquire);
  }

  [[nodiscard]] bool swap(std::uint32_t from, std::uint32_t to) noexcept {
    // relaxed (2x): shows only whether a wake-up is needed; the waiter acts on what (1) reads
    return word_.compare_exchange_strong(from, to, std::memory_order_relaxed,
                                         std::memory_order_relaxed);
  }

  [[nodiscard]] ending end(std::uint32_t last) noexcept {
    // relaxed: only a guess, validated by (2)
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    while (is_open(seen)) {
      // (2) - this release-CAS synchronizes-with the acquire-load (1), so the waiter sees the item.
      // relaxed on failure: the word is again only a guess
      if (word_.compare_exchange_weak(seen, last, std::memory_order_release,
                                      std::memory_order_relaxed)) {
        return seen == asleep_state ? ending::asleep : ending::awake;
      }
    }
    return ending::too_late;
  }

  atomic<std::uint32_t> word_{waiting_state};
};

}  // namespace lido::inline v0::detail
