/// @file
/// Internal. The record of one slot of a checked pool. The record ensures that exactly one release
/// ends each use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lido/concurrency/atomic.hpp"
#include "lido/debug/code_address.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

/// State and history of a slot. One word counts the slot's steps: an acquire makes the count odd,
/// and the release that ends the use makes it even. Wait-free.
///
/// Only the thread that took the slot from the free list may make the count odd, so a store
/// suffices. Any number of threads may release the slot, correctly or not: a compare-and-swap lets
/// exactly one of them succeed.
class alignas(cache_line) slot_record {
 public:
  /// Number of recorded steps. For a free slot, they cover its last four uses. For a slot in use,
  /// one step fewer is recorded.
  static constexpr std::uint64_t kept_steps = 8;

  struct event {
    std::uint32_t thread;  ///< 0: not recorded yet
    code_address at;
  };

  /// Returns whether the slot is in use after `step`.
  [[nodiscard]] static constexpr bool is_used_after(std::uint64_t step) noexcept {
    return step % 2 != 0;
  }

  /// Begins a use. Called after the slot was taken from the free list and its object was created.
  [[LIDO_ALWAYS_INLINE]] void begin_use(code_address at, std::uint32_t thread) noexcept {
    // relaxed: only the thread that holds the slot writes the word; the free list ordered the
    // previous write
    const std::uint64_t step = steps_.load(std::memory_order_relaxed) + 1;
    note(step, {thread, at});
    // relaxed: for reports
    threads_[(step + 1) % kept_steps].store(0, std::memory_order_relaxed);
    // relaxed: as above; a separate word, so that a release can read it without waiting for its
    // compare-and-swap
    uses_.store((step + 1) / 2, std::memory_order_relaxed);
    // (1) - this release-store synchronizes-with the acquire-load (2), so the object is complete
    steps_.store(step, std::memory_order_release);
  }

  [[nodiscard, LIDO_ALWAYS_INLINE]] std::uint64_t last_step() const noexcept {
    // (2) - this acquire-load synchronizes-with the release-store (1)
    return steps_.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool is_used() const noexcept { return is_used_after(last_step()); }

  /// Returns the number of acquires of the slot.
  [[nodiscard, LIDO_ALWAYS_INLINE]] std::uint64_t uses() const noexcept {
    // relaxed: the caller reads what the acquire of this use stored, or needs the value only for a
    // report
    return uses_.load(std::memory_order_relaxed);
  }

  /// Ends the use that began with `step`, unless it has already ended. However many threads
  /// call this, it returns true to exactly one of them.
  [[nodiscard, LIDO_ALWAYS_INLINE]] bool try_end(std::uint64_t step, code_address at,
                                                 std::uint32_t thread) noexcept {
    std::uint64_t seen = step;
    // relaxed: it only matters that exactly one thread succeeds; the free list publishes the slot's
    // content
    if (hardly_ever(!is_used_after(step)) ||
        hardly_ever(!steps_.compare_exchange_strong(seen, step + 1, std::memory_order_relaxed,
                                                    std::memory_order_relaxed))) {
      return false;
    }
    note(step + 1, {thread, at});
    return true;
  }

  /// Returns the event of `step`, one of the last `kept_steps`. It is approximate while threads use
  /// the slot.
  [[nodiscard]] event event_of(std::uint64_t step) const noexcept {
    // relaxed (2x): for a report
    const std::uint32_t thread = threads_[step % kept_steps].load(std::memory_order_relaxed);
    const void* const at = code_addresses_[step % kept_steps].load(std::memory_order_relaxed);
    return {thread, {thread != 0 ? at : nullptr}};
  }

 private:
  /// Called only by the thread that may begin the use, or that has ended it.
  [[LIDO_ALWAYS_INLINE]] void note(std::uint64_t step, event what) noexcept {
    // relaxed (2x): for reports
    threads_[step % kept_steps].store(what.thread, std::memory_order_relaxed);
    code_addresses_[step % kept_steps].store(what.at.address, std::memory_order_relaxed);
  }

  atomic<std::uint64_t> steps_{0};
  atomic<std::uint64_t> uses_{0};
  // Rings of the last events.
  std::array<atomic<std::uint32_t>, kept_steps> threads_{};
  std::array<atomic<const void*>, kept_steps> code_addresses_{};
};

static_assert(sizeof(slot_record) == 2 * cache_line);

}  // namespace lido::inline v0::detail
