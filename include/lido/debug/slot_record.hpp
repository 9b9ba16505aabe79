/// @file
/// Internal. What a checked pool knows about one slot: a word of state, and its last events.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lido/concurrency/atomic.hpp"
#include "lido/debug/place.hpp"

namespace lido::detail {

/// How often the slot has changed hands, and the thread that did it last. Acquires and releases
/// take turns, so an odd step means in use.
///
/// 42 bits of steps; they wrap after a slot has changed hands four trillion times, which a release
/// would notice only if it stood still for exactly as long.
class slot_word {
 public:
  static constexpr unsigned thread_bits = 22;  // Linux has thread ids up to 2^22

  explicit constexpr slot_word(std::uint64_t word) noexcept : word_(word) {}

  [[nodiscard]] constexpr std::uint64_t step() const noexcept { return word_ >> thread_bits; }
  [[nodiscard]] constexpr std::uint32_t thread() const noexcept {
    return static_cast<std::uint32_t>(word_) & ((1U << thread_bits) - 1);
  }
  [[nodiscard]] constexpr bool in_use() const noexcept { return (step() & 1U) != 0; }
  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }
  [[nodiscard]] constexpr slot_word next(std::uint32_t thread) const noexcept {
    return slot_word((step() + 1) << thread_bits | thread);
  }

 private:
  std::uint64_t word_;
};

/// State and history of a slot. Lock-free; whoever changes the word has the slot, and with it the
/// right to write the next event.
class slot_record {
 public:
  static constexpr std::size_t kept_events = 8;

  struct event {
    slot_word word;
    place at;
  };

  /// After a slot was taken from the free list and its object made.
  void mark_used(place at, std::uint32_t thread) noexcept {
    // relaxed: the slot is this thread's, and the free list ordered the last release before
    const slot_word next = slot_word(word_.load(std::memory_order_relaxed)).next(thread);
    note(next, at);
    // (1) - this release-store synchronizes-with the acquire-load (2), so the object is complete
    word_.store(next.word(), std::memory_order_release);
  }

  /// Before an object is destroyed. Of any number of threads exactly one is told that it may.
  [[nodiscard]] bool try_mark_free(place at, std::uint32_t thread) noexcept {
    // relaxed: whoever may release the object was told of it after it was marked
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    const slot_word next = slot_word(word).next(thread);
    // relaxed: that one alone wins is all; the free list hands on what is in the slot
    if (!slot_word(word).in_use() ||
        !word_.compare_exchange_strong(word, next.word(), std::memory_order_relaxed,
                                       std::memory_order_relaxed)) {
      return false;
    }
    note(next, at);
    return true;
  }

  [[nodiscard]] bool is_used() const noexcept {
    // (2) - this acquire-load synchronizes-with the release-store (1)
    return slot_word(word_.load(std::memory_order_acquire)).in_use();
  }

  // ---- for reports; approximate beside threads that use the slot --------------------------------

  [[nodiscard]] slot_word word() const noexcept {
    // relaxed: for a report
    return slot_word(word_.load(std::memory_order_relaxed));
  }

  /// The event that ended in `step`; one with another step if it has been overwritten since.
  [[nodiscard]] event event_of(std::uint64_t step) const noexcept {
    const cell& found = events_[step % kept_events];
    // relaxed (2x): for a report
    const slot_word word(found.word.load(std::memory_order_relaxed));
    return {word, {found.address.load(std::memory_order_relaxed)}};
  }

 private:
  struct cell {
    atomic<const void*> address{nullptr};
    atomic<std::uint64_t> word{0};
  };

  void note(slot_word word, place at) noexcept {
    cell& next = events_[word.step() % kept_events];
    // relaxed (2x): for reports, which say how far they can be trusted
    next.address.store(at.address, std::memory_order_relaxed);
    next.word.store(word.word(), std::memory_order_relaxed);
  }

  atomic<std::uint64_t> word_{0};
  std::array<cell, kept_events> events_;
};

}  // namespace lido::detail
