/// @file
/// Internal. The record of one slot of a checked pool, and how exactly one release ends its use.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "lido/concurrency/atomic.hpp"
#include "lido/debug/place.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

/// State and history of a slot. Its uses are counted from 1.
///
/// The last use has ended when `ended_` or `claimed_` names it. The holder, which is the thread
/// that acquired, ends it by a plain store to `ended_`. Other threads use a compare-and-swap of
/// `claimed_`, and so does the holder once releases are shared; see `release_bias`. `claimed_` only
/// grows, and one thread alone moves it to a use, so it decides.
class alignas(cache_line) slot_record {
 public:
  /// Number of recorded uses, each with its acquire and its release.
  static constexpr std::uint64_t kept_uses = 4;

  struct event {
    std::uint32_t thread;
    place at;  ///< null if not noted yet
  };

  /// Begins a use of a slot that was taken from the free list and has an object. `thread` is not 0.
  [[LIDO_ALWAYS_INLINE]] void begin_use(place at, std::uint32_t thread) noexcept {
    // relaxed: only the thread that has the slot writes it; the free list ordered the last write
    const std::uint64_t use = uses_.load(std::memory_order_relaxed) + 1;
    const std::size_t which = use % kept_uses;
    // relaxed (3x): published by (1)
    threads_[which].store(thread, std::memory_order_relaxed);
    acquired_at_[which].store(at.address, std::memory_order_relaxed);
    released_at_[which].store(nullptr, std::memory_order_relaxed);
    // (1) - this release-store synchronizes-with the acquire-load (2), so the object is complete,
    // and its holder is known
    uses_.store(use, std::memory_order_release);
  }

  /// Returns the current or last use of the slot; 0 if it was never acquired.
  [[nodiscard, LIDO_ALWAYS_INLINE]] std::uint64_t last_use() const noexcept {
    // (2) - this acquire-load synchronizes-with the release-store (1)
    return uses_.load(std::memory_order_acquire);
  }

  /// Returns true if `thread` acquired the slot for `use`, which has not ended. Takes `thread` by
  /// reference, so that it is loaded at the comparison.
  [[nodiscard, LIDO_ALWAYS_INLINE]] bool is_held_by(const std::uint32_t& thread,
                                                    std::uint64_t use) const noexcept {
    // relaxed (2x): as this thread left them, or changed by another whose claim then decides
    return !hardly_ever(threads_[use % kept_uses].load(std::memory_order_relaxed) != thread) &&
           !hardly_ever(ended_.load(std::memory_order_relaxed) == use);
  }

  /// Ends `use` when releases are shared. Exactly one of any number of threads gets true.
  [[nodiscard]] bool try_claim(std::uint64_t use) noexcept {
    // relaxed: only a guess, validated by the compare-and-swap
    std::uint64_t seen = claimed_.load(std::memory_order_relaxed);
    while (seen < use) {
      // relaxed: that one alone wins is all; the free list passes on what is in the slot
      if (claimed_.compare_exchange_weak(seen, use, std::memory_order_relaxed,
                                         std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// Ends `use`, as all of a release by the holder while releases are not shared. If a claim was
  /// faster, the store may come in a later use, which claims then decide, too.
  [[LIDO_ALWAYS_INLINE]] void publish_end(std::uint64_t use) noexcept {
    // relaxed: the light fence that follows keeps its order, the heavy fence of others does the
    // rest; where releases are shared, `claimed_` decides
    ended_.store(use, std::memory_order_relaxed);
  }

  [[LIDO_ALWAYS_INLINE]] void note_release(std::uint64_t use, place at) noexcept {
    // relaxed: for reports
    released_at_[use % kept_uses].store(at.address, std::memory_order_relaxed);
  }

  /// Notes a release by a thread that may not be the holder.
  void note_release_by(std::uint64_t use, place at, std::uint32_t thread) noexcept {
    atomic<std::uint64_t>& threads = threads_[use % kept_uses];
    // relaxed (2x): for reports; a holder that reads it finds that its use has ended
    threads.store(
        (threads.load(std::memory_order_relaxed) & holder_bits) | std::uint64_t{thread} << 32U,
        std::memory_order_relaxed);
    note_release(use, at);
  }

  [[nodiscard]] bool has_ended(std::uint64_t use) const noexcept {
    // relaxed (2x): after a heavy fence, or for a report
    return (std::max)(ended_.load(std::memory_order_relaxed),
                      claimed_.load(std::memory_order_relaxed)) >= use;
  }

  [[nodiscard]] bool is_used() const noexcept { return !has_ended(last_use()); }

  /// Returns the acquire of one of the last `kept_uses`; approximate while threads use the slot.
  [[nodiscard]] event acquire_of(std::uint64_t use) const noexcept {
    // relaxed (2x): for a report
    return {static_cast<std::uint32_t>(threads_[use % kept_uses].load(std::memory_order_relaxed)),
            {acquired_at_[use % kept_uses].load(std::memory_order_relaxed)}};
  }
  [[nodiscard]] event release_of(std::uint64_t use) const noexcept {
    // relaxed (2x): for a report
    const std::uint64_t threads = threads_[use % kept_uses].load(std::memory_order_relaxed);
    const std::uint64_t releaser = threads >> 32U;
    return {static_cast<std::uint32_t>(releaser != 0 ? releaser : threads),
            {released_at_[use % kept_uses].load(std::memory_order_relaxed)}};
  }

 private:
  static constexpr std::uint64_t holder_bits = 0xFFFFFFFF;

  atomic<std::uint64_t> uses_{0};
  atomic<std::uint64_t> ended_{0};
  atomic<std::uint64_t> claimed_{0};
  // Rings with the last uses.
  std::array<atomic<std::uint64_t>, kept_uses> threads_{};  ///< low: holder; high: releaser
  std::array<atomic<const void*>, kept_uses> acquired_at_{};
  std::array<atomic<const void*>, kept_uses> released_at_{};
};

static_assert(sizeof(slot_record) == 2 * cache_line);

/// Decides releases of one pool, biased towards the holders. A holder ends its use by a store, then
/// checks if releases are shared. The first thread that releases another's object announces that
/// and runs a heavy fence. After it, each holder's store is visible, or the holder sees that
/// releases are shared. From then on a compare-and-swap decides every release of the pool.
///
/// Wait-free for holders until releases are shared, then lock-free. The heavy fence runs once in a
/// pool, or once more for each thread that arrives while it runs. (Biased as the locks of Dice,
/// Huang and Yang, 2001, with the fence of the thread caches.)
class release_bias {
 public:
  /// Shares releases from the start if the system lacks membarrier(2).
  release_bias() noexcept : sharing_(heavy_fence_available() ? sharing::none : sharing::complete) {}

  /// Ends a use of the calling thread. Returns false if releases are shared: `settle` then decides.
  [[nodiscard, LIDO_ALWAYS_INLINE]] bool end_alone(slot_record& record, std::uint64_t use,
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

  /// Ends a use when releases are shared. Returns false if another thread was faster. Takes the
  /// `use` that the holder saw, since the slot may be in its next use by now.
  [[nodiscard]] static bool settle(slot_record& record, std::uint64_t use, place at) noexcept {
    if (!record.try_claim(use)) {
      return false;
    }
    record.note_release(use, at);
    return true;
  }

  /// Ends the use of the slot, as a thread that does not hold it. Returns false if the slot was not
  /// in use, or another release was faster.
  [[nodiscard]] bool end_as_other(slot_record& record, place at) noexcept {
    const std::uint64_t use = record.last_use();
    if (record.has_ended(use)) {
      return false;
    }
    share();
    // Checked again: a holder that was about to release has stored it by now, or must claim.
    if (record.has_ended(use) || !record.try_claim(use)) {
      return false;
    }
    record.publish_end(use);
    record.note_release_by(use, at, this_thread_id());
    return true;
  }

 private:
  /// none: each object was released by the thread that acquired it. announced: a thread is about to
  /// make all others see that this has ended. complete: they have seen it.
  enum class sharing : std::uint32_t { none, announced, complete };

  void share() noexcept {
    // (3) - this acquire-load synchronizes-with the release-store (4), so what the fence made
    // visible to that thread is visible to this one
    if (sharing_.load(std::memory_order_acquire) == sharing::complete) {
      return;
    }
    // relaxed: the heavy fence shows it to all
    sharing_.store(sharing::announced, std::memory_order_relaxed);
    // It does not fail where it is available; if it did, the worst would be two releases that both
    // believe to be the first.
    (void)heavy_fence();
    // (4) - this release-store synchronizes-with the acquire-load (3)
    sharing_.store(sharing::complete, std::memory_order_release);
  }

  atomic<sharing> sharing_;
};

}  // namespace lido::inline v0::detail
