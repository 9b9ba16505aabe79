/// @file
/// Internal. The record of one slot of a checked pool, and how exactly one release ends its use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lido/concurrency/atomic.hpp"
#include "lido/debug/code_address.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

/// State and history of a slot. One word counts its steps: an acquire makes it odd, and the release
/// that ends the use makes it even. Wait-free.
///
/// Only the thread that took the slot from the free list may make the word odd, so it stores. Any
/// number of threads may release, rightly or not: a compare-and-swap lets one of them win.
class alignas(cache_line) slot_record {
 public:
  /// The last four uses of a slot that is free. One that is in use has a step less.
  static constexpr std::uint64_t kept_steps = 8;

  struct event {
    std::uint32_t thread;  ///< 0: not written down yet
    code_address at;
  };

  /// Returns whether the slot is in use after `step`.
  [[nodiscard]] static constexpr bool is_used_after(std::uint64_t step) noexcept {
    return step % 2 != 0;
  }

  /// Begins a use, after the slot was taken from the free list and its object made.
  [[LIDO_ALWAYS_INLINE]] void begin_use(code_address at, std::uint32_t thread) noexcept {
    // relaxed: only the thread that has the slot writes it; the free list ordered the last write
    const std::uint64_t step = steps_.load(std::memory_order_relaxed) + 1;
    note(step, {thread, at});
    // relaxed: for reports
    threads_[(step + 1) % kept_steps].store(0, std::memory_order_relaxed);
    // relaxed: as above; a word of its own, so that a release need not wait for its swap to read it
    uses_.store((step + 1) / 2, std::memory_order_relaxed);
    // (1) - this release-store synchronizes-with the acquire-load (2), so the object is complete
    steps_.store(step, std::memory_order_release);
  }

  [[nodiscard, LIDO_ALWAYS_INLINE]] std::uint64_t last_step() const noexcept {
    // (2) - this acquire-load synchronizes-with the release-store (1)
    return steps_.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool is_used() const noexcept { return is_used_after(last_step()); }

  /// Counts the acquires of the slot.
  [[nodiscard, LIDO_ALWAYS_INLINE]] std::uint64_t uses() const noexcept {
    // relaxed: as the acquire of this use left it, or for a report
    return uses_.load(std::memory_order_relaxed);
  }

  /// Ends the use that began with `step`, unless it has ended. Of any number of threads exactly one
  /// gets true.
  [[nodiscard, LIDO_ALWAYS_INLINE]] bool try_end(std::uint64_t step, code_address at,
                                                 std::uint32_t thread) noexcept {
    std::uint64_t seen = step;
    // relaxed: that one alone wins is all; the free list hands on what is in the slot
    if (hardly_ever(!is_used_after(step)) ||
        hardly_ever(!steps_.compare_exchange_strong(seen, step + 1, std::memory_order_relaxed,
                                                    std::memory_order_relaxed))) {
      return false;
    }
    note(step + 1, {thread, at});
    return true;
  }

  /// Returns one of the last `kept_steps`; approximate beside threads that use the slot.
  [[nodiscard]] event event_of(std::uint64_t step) const noexcept {
    // relaxed (2x): for a report
    const std::uint32_t thread = threads_[step % kept_steps].load(std::memory_order_relaxed);
    const void* const at = code_addresses_[step % kept_steps].load(std::memory_order_relaxed);
    return {thread, {thread != 0 ? at : nullptr}};
  }

 private:
  /// Called by the only thread that may begin or has ended the use.
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
