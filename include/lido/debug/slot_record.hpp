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

/// State and history of a slot. Its uses are counted from 1.
///
/// The last use has ended when `ended_` or `claimed_` names it. The thread that acquired, the
/// holder, ends it by a plain store to `ended_`. Others end it by a compare-and-swap of `claimed_`;
/// `release_bias` sees to it that the holder does so, too, once others may be at it. `claimed_`
/// only grows, and one thread alone moves it to a use, so it has the last word.
class alignas(cache_line) slot_record {
 public:
  static constexpr unsigned thread_bits = 22;  // Linux has thread ids up to 2^22
  /// Each with the acquire and the release that belong to it.
  static constexpr std::uint64_t kept_uses = 4;

  struct event {
    std::uint32_t thread;
    place at;
    bool known;  ///< false: it is just being written, or a later use has taken its place
  };

  /// After a slot was taken from the free list and its object made. `thread` is not 0.
  [[gnu::always_inline]] void begin_use(place at, std::uint32_t thread) noexcept {
    // relaxed: only who has the slot writes it, and the free list ordered the one before
    const std::uint64_t use = uses_.load(std::memory_order_relaxed) + 1;
    const std::uint64_t which = use % kept_uses;
    // relaxed (3x): published by (1)
    hands_[which].holder.store(thread, std::memory_order_relaxed);
    acquired_at_[which].store(at.address, std::memory_order_relaxed);
    released_at_[which].store(nullptr, std::memory_order_relaxed);
    // (1) - this release-store synchronizes-with the acquire-load (2), so the object is complete,
    // and its holder is known
    uses_.store(use, std::memory_order_release);
  }

  /// The use that the slot is in, or was in last; 0: it was never acquired.
  [[nodiscard, gnu::always_inline]] std::uint64_t last_use() const noexcept {
    // (2) - this acquire-load synchronizes-with the release-store (1)
    return uses_.load(std::memory_order_acquire);
  }

  /// Whether `thread` acquired it for `use`, and that has not ended. `thread` is read where it is
  /// compared.
  [[nodiscard, gnu::always_inline]] bool is_held_by(const std::uint32_t& thread,
                                                    std::uint64_t use) const noexcept {
    // relaxed (2x): as this thread left them, or changed by another whose claim then decides
    return !hardly_ever(hands_[use % kept_uses].holder.load(std::memory_order_relaxed) != thread) &&
           !hardly_ever(ended_.load(std::memory_order_relaxed) == use);
  }

  /// Ends `use` where releases are shared. Of any number of threads exactly one is told that it
  /// did.
  [[nodiscard]] bool try_claim(std::uint64_t use) noexcept {
    // relaxed: only a guess, validated by the compare-and-swap
    std::uint64_t seen = claimed_.load(std::memory_order_relaxed);
    while (seen < use) {
      // relaxed: that one alone wins is all; the free list hands on what is in the slot
      if (claimed_.compare_exchange_weak(seen, use, std::memory_order_relaxed,
                                         std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// All of a release by the holder where releases are not shared. It may come late, into a later
  /// use, if a claim was faster; then that use is decided by claims, too.
  [[gnu::always_inline]] void publish_end(std::uint64_t use) noexcept {
    // relaxed: the light fence that follows keeps its order, the heavy fence of others does the
    // rest; where releases are shared, `claimed_` decides
    ended_.store(use, std::memory_order_relaxed);
  }

  [[gnu::always_inline]] void note_release(std::uint64_t use, place at) noexcept {
    // relaxed: for reports
    released_at_[use % kept_uses].store(at.address, std::memory_order_relaxed);
  }

  /// As above, by a thread that may not be the holder.
  void note_release_by(std::uint64_t use, place at, std::uint32_t thread) noexcept {
    // relaxed: for reports
    hands_[use % kept_uses].releaser.store(tag_of(use, thread), std::memory_order_relaxed);
    note_release(use, at);
  }

  [[nodiscard]] bool has_ended(std::uint64_t use) const noexcept {
    // relaxed (2x): after a heavy fence, or for a report
    return std::max(ended_.load(std::memory_order_relaxed),
                    claimed_.load(std::memory_order_relaxed)) >= use;
  }

  [[nodiscard]] bool is_used() const noexcept { return !has_ended(last_use()); }

  // ---- for reports; approximate beside threads that use the slot --------------------------------

  [[nodiscard]] event acquire_of(std::uint64_t use) const noexcept;
  [[nodiscard]] event release_of(std::uint64_t use) const noexcept;

 private:
  /// The thread, and ten bits of the use, so that one of another use is not taken for it.
  [[nodiscard]] static constexpr std::uint32_t tag_of(std::uint64_t use,
                                                      std::uint32_t thread) noexcept {
    return static_cast<std::uint32_t>(use << thread_bits) | thread;
  }

  /// In and out of whose hands an object went.
  struct hands {
    atomic<std::uint32_t> holder{0};
    atomic<std::uint32_t> releaser{0};  ///< a tag, if the use was not ended as a holder
  };

  atomic<std::uint64_t> uses_{0};
  atomic<std::uint64_t> ended_{0};
  atomic<std::uint64_t> claimed_{0};
  // Rings of the last uses.
  std::array<hands, kept_uses> hands_{};
  std::array<atomic<const void*>, kept_uses> acquired_at_{};
  std::array<atomic<const void*>, kept_uses> released_at_{};
};

static_assert(sizeof(slot_record) == 2 * cache_line);

inline slot_record::event slot_record::acquire_of(std::uint64_t use) const noexcept {
  const std::uint64_t which = use % kept_uses;
  // relaxed (2x): for a report
  const std::uint32_t thread = hands_[which].holder.load(std::memory_order_relaxed);
  const void* const at = acquired_at_[which].load(std::memory_order_relaxed);
  return {thread, {at}, use + kept_uses > last_use()};
}

inline slot_record::event slot_record::release_of(std::uint64_t use) const noexcept {
  const std::uint64_t which = use % kept_uses;
  // relaxed (3x): for a report
  const std::uint32_t tag = hands_[which].releaser.load(std::memory_order_relaxed);
  const void* const at = released_at_[which].load(std::memory_order_relaxed);
  const std::uint32_t holder = hands_[which].holder.load(std::memory_order_relaxed);
  const std::uint32_t thread = tag & ((1U << thread_bits) - 1);
  return {tag == tag_of(use, thread) ? thread : holder,
          {at},
          at != nullptr && use + kept_uses > last_use()};
}

}  // namespace lido::detail
