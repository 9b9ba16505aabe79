/// @file
/// Internal. What a checked pool knows about one slot: whether it is in use, and its last events.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/debug/place.hpp"

namespace lido::detail {

/// Which use of a slot, counted from 1, and a thread.
///
/// 42 bits of uses: they wrap after a slot has been acquired four trillion times.
class slot_word {
 public:
  static constexpr unsigned thread_bits = 22;  // Linux has thread ids up to 2^22

  explicit constexpr slot_word(std::uint64_t word) noexcept : word_(word) {}

  [[nodiscard]] constexpr std::uint64_t use() const noexcept { return word_ >> thread_bits; }
  [[nodiscard]] constexpr std::uint32_t thread() const noexcept {
    return static_cast<std::uint32_t>(word_) & thread_mask;
  }
  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }
  [[nodiscard]] constexpr slot_word next_use(std::uint32_t thread) const noexcept {
    return slot_word((word_ & ~std::uint64_t{thread_mask}) + (1U << thread_bits) + thread);
  }
  [[nodiscard]] constexpr slot_word same_use(std::uint32_t thread) const noexcept {
    return slot_word((word_ & ~std::uint64_t{thread_mask}) + thread);
  }

 private:
  static constexpr std::uint32_t thread_mask = (1U << thread_bits) - 1;
  std::uint64_t word_;
};

/// State and history of a slot.
///
/// A use begins when `acquired_` names it, and has ended when `released_` or `claimed_` does. The
/// thread that acquired, the holder, ends it by a plain store, so a release costs it no
/// read-modify-write. Others end it by a compare-and-swap of `claimed_`; `checked_slots` sees to it
/// that the holder does so, too, once others may be at it. `claimed_` only grows, and one thread
/// alone moves it to a use, so it has the last word.
class alignas(cache_line) slot_record {
 public:
  /// Each with the acquire and the release that belong to it.
  static constexpr std::uint64_t kept_uses = 4;

  struct event {
    std::uint32_t thread;
    place at;
    bool known;  ///< false: a later use has taken its place
  };

  /// After a slot was taken from the free list and its object made.
  [[gnu::always_inline]] void begin_use(place at, std::uint32_t thread) noexcept {
    // relaxed: only who has the slot writes it, and the free list ordered the one before
    const slot_word next = slot_word(acquired_.load(std::memory_order_relaxed)).next_use(thread);
    acquires_.note(next, at);
    // (1) - this release-store synchronizes-with the acquire-load (2), so the object is complete
    acquired_.store(next.word(), std::memory_order_release);
  }

  /// First half of a release by the holder; the second half is to look whether releases are
  /// shared. Returns the use that ended; 0: `thread` is not the holder, or has ended it already.
  [[nodiscard, gnu::always_inline]] slot_word try_end_as_holder(std::uint32_t thread) noexcept {
    const slot_word held = acquired();
    // relaxed: as this thread left it, or changed by another whose claim then decides
    const std::uint64_t ended = released_.load(std::memory_order_relaxed);
    if (held.thread() != thread || held.word() == ended) [[unlikely]] {
      return slot_word(0);
    }
    // relaxed: the light fence that follows keeps its order, the heavy fence of others does the
    // rest
    released_.store(held.word(), std::memory_order_relaxed);
    return held;
  }

  /// Ends `use` where releases are shared. Of any number of threads exactly one is told that it
  /// did.
  [[nodiscard]] bool try_claim(slot_word use) noexcept {
    // relaxed: only a guess, validated by the compare-and-swap
    std::uint64_t seen = claimed_.load(std::memory_order_relaxed);
    while (slot_word(seen).use() < use.use()) {
      // relaxed: that one alone wins is all; the free list hands on what is in the slot
      if (claimed_.compare_exchange_weak(seen, use.word(), std::memory_order_relaxed,
                                         std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// For the others' claims to show where the holder looks first.
  void publish_end(slot_word use) noexcept {
    // relaxed: `claimed_` decides
    released_.store(use.word(), std::memory_order_relaxed);
  }

  [[gnu::always_inline]] void note_release(slot_word use, place at) noexcept {
    releases_.note(use, at);
  }

  [[nodiscard]] slot_word acquired() const noexcept {
    // relaxed: who may release was told of the object after it was acquired
    return slot_word(acquired_.load(std::memory_order_relaxed));
  }

  [[nodiscard]] bool ended(slot_word use) const noexcept {
    // relaxed (2x): after a heavy fence, or for a report
    const slot_word released(released_.load(std::memory_order_relaxed));
    const slot_word claimed(claimed_.load(std::memory_order_relaxed));
    return std::max(released.use(), claimed.use()) >= use.use();
  }

  [[nodiscard]] bool is_used() const noexcept {
    // (2) - this acquire-load synchronizes-with the release-store (1)
    return !ended(slot_word(acquired_.load(std::memory_order_acquire)));
  }

  [[nodiscard]] event acquire_of(std::uint64_t use) const noexcept { return acquires_.of(use); }
  [[nodiscard]] event release_of(std::uint64_t use) const noexcept { return releases_.of(use); }

 private:
  /// The last events of a kind. Written by whoever has the slot, read for reports.
  class ring {
   public:
    [[gnu::always_inline]] void note(slot_word word, place at) noexcept {
      const std::uint64_t which = word.use() % kept_uses;
      // The thread, and ten bits of the use.
      const auto tag = static_cast<std::uint32_t>(word.word());
      // relaxed (2x): for reports, which say how far they can be trusted
      places_[which].store(at.address, std::memory_order_relaxed);
      tags_[which].store(tag, std::memory_order_relaxed);
    }

    [[nodiscard]] event of(std::uint64_t use) const noexcept {
      // relaxed (2x): for a report
      const slot_word tag(tags_[use % kept_uses].load(std::memory_order_relaxed));
      const void* const address = places_[use % kept_uses].load(std::memory_order_relaxed);
      return {tag.thread(), {address}, tag.use() == use % 1024};
    }

   private:
    std::array<atomic<const void*>, kept_uses> places_{};
    std::array<atomic<std::uint32_t>, kept_uses> tags_{};
  };

  atomic<std::uint64_t> acquired_{0};
  atomic<std::uint64_t> released_{0};
  atomic<std::uint64_t> claimed_{0};
  ring acquires_;
  ring releases_;
};

static_assert(sizeof(slot_record) == 2 * cache_line);

}  // namespace lido::detail
