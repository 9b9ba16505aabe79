/// @file
/// Internal. 128 slots of a concurrent slot map, which a walk enters as a whole.
#pragma once

#include <cstdint>

#include "lido/base/assert.hpp"
#include "lido/base/tuning.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/debug/code_address.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/slot_map/slot_state.hpp"

namespace lido::inline v0::detail {

/// Lets a walk visit values without entering each of them. Records which value the walk is
/// visiting, and which erased values the walk must destroy.
///
/// A walk enters the block with one compare-and-swap. Before it visits a value, it announces the
/// value with a store. It changes no slot_state. Only one walk at a time can enter. A second walk
/// enters the values one by one, as visitors do.
///
/// Invariants
///  W1 A visitor first changes the slot_state, then checks for a walk in the map and in the block.
///     A walk first enters both, then reads the slot_state.
///  W2 A visitor that sees a walk of another thread runs the heavy fence. After that, the visitor
///     sees which value the walk is visiting. The walk sees the visitor when it reaches the
///     visitor's value.
///  W3 An erased value without visitors is destroyed by the walk, or by a thread that sees no walk.
///     A thread that needs the slot may also destroy the value, if it sees after a heavy fence that
///     the walk is at another value.
class alignas(cache_line) walk_block {
 public:
  using access = slot_state::access;
  static constexpr std::uint32_t size = 128;

  /// Enters the block. Returns false if another walk is in the block, or if the system lacks the
  /// heavy fence.
  [[nodiscard]] bool try_enter(access how) noexcept {
    const std::uint64_t walk =
        std::uint64_t{this_thread_id()} << thread_shift | (how == access::alone ? alone : 0);
    std::uint64_t none = 0;
    // (1) - this seq_cst-CAS synchronizes-with the acq_rel-exchange (2): the walk sees what the
    // previous walk did. It is in one total order with the seq_cst-load (7) and slot_state.hpp (2,
    // 3, 4, 6). On failure relaxed: nothing is read
    return heavy_fence_available() &&
           word_.compare_exchange_strong(none, walk, std::memory_order_seq_cst,
                                         std::memory_order_relaxed);
  }

  /// Leaves the current value and moves on to `index`. Returns true if the walk may access the
  /// value there. Otherwise, the walk must enter the value (if there is one) as a visitor does.
  [[nodiscard]] bool come_to(std::uint32_t index, const slot_state& state, access how) noexcept {
    say(index);
    if (state.admits(how)) [[likely]] {
      return true;
    }
    say(size);
    return false;
  }

  /// Leaves the block. Returns the head of the list of erased values: the index of the first value
  /// plus 1, or 0 if the list is empty. The walk must destroy these values.
  [[nodiscard]] std::uint32_t leave() noexcept {
    say(size);
    // (2) - this acq_rel-exchange synchronizes-with the seq_cst-CAS (1), the release-CAS (5) and
    // the seq_cst-load (7): these threads see what the walk did, and the walk sees what they did
    return static_cast<std::uint32_t>(word_.exchange(0, std::memory_order_acq_rel) & erased);
  }

  /// Takes the list of erased values away from a walk, and returns its head as `leave` does.
  /// Requires: the caller runs the heavy fence before it calls `is_at`, and leaves the walk's
  /// current value to the walk.
  [[nodiscard]] std::uint32_t take_erased() noexcept {
    std::uint64_t before = word();
    // (3) - this acquire-CAS synchronizes-with the release-CAS (5): the caller sees what erasers
    // and visitors did. On failure relaxed: the loop checks the word again
    while ((before & erased) != 0 &&
           !word_.compare_exchange_weak(before, before & ~erased, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
    }
    return static_cast<std::uint32_t>(before & erased);
  }
  [[nodiscard]] bool is_at(std::uint32_t index) const noexcept {
    // (4) - this acquire-load synchronizes-with the release-store (6)
    return at_.load(std::memory_order_acquire) == index;
  }

  /// Waits while a walk that excludes this visitor is at the value. When the wait ends, the walk
  /// may have erased the value. Returns false if the kernel refuses the heavy fence; the visitor
  /// must then leave the value and try again. Requires: the visitor has entered the value.
  [[nodiscard]] bool let_pass(std::uint32_t index, access how) const noexcept {
    return !excludes(word(), how) || wait_for_walk(index, how);
  }

  /// Adds a value to the list of erased values that the walk must destroy. Returns false if no walk
  /// is in the block; the caller must then destroy the value. Requires: the value is erased, and no
  /// thread is in it.
  [[nodiscard, LIDO_ASSERTS]] bool put_erased(slot_state& state, std::uint32_t index) noexcept {
    for (std::uint64_t before = word(); before != 0; before = word()) {
      state.set_next(static_cast<std::uint32_t>(before & erased));
      // (5) - this release-CAS synchronizes-with the acq_rel-exchange (2) and the acquire-CAS (3).
      // On failure relaxed: the loop checks the word again
      if (word_.compare_exchange_weak(before, (before & ~erased) | (index + 1),
                                      std::memory_order_release, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr std::uint64_t erased = 0xFF;
  static constexpr std::uint64_t alone = 0x100;
  static constexpr unsigned thread_shift = 32;

  void say(std::uint32_t index) noexcept {
    // (6) - this release-store synchronizes-with the acquire-load (4): the next visitor sees what
    // the walk did
    at_.store(index, std::memory_order_release);
    light_fence();
  }

  [[nodiscard]] std::uint64_t word() const noexcept {
    // (7) - this seq_cst-load synchronizes-with the acq_rel-exchange (2): what the walk did is
    // visible. It is in one total order with the seq_cst-CAS (1)
    return word_.load(std::memory_order_seq_cst);
  }

  static bool excludes(std::uint64_t word, access how) noexcept {
    return word != 0 && ((word & alone) != 0 || how == access::alone);
  }

  [[nodiscard, LIDO_SLOW_PATH]] bool wait_for_walk(std::uint32_t index, access how) const noexcept {
    const bool own = word() >> thread_shift == this_thread_id();
    exponential_backoff backoff;
    // Waits for about the duration of a fence. Most walks have left the block by then.
    while (backoff.waits() < tuning::waits_before_yield && !own) {
      backoff.wait();
      if (!excludes(word(), how)) {
        return true;
      }
    }
    const bool seen = own || heavy_fence();
    while (seen && is_at(index)) {
      backoff.wait();
    }
    return seen;
  }

  atomic<std::uint64_t> word_{0};  ///< the walk's thread and access; the list of erased values
  atomic<std::uint32_t> at_{size};
};

/// Counts the walks that are running in the map. While the count is 0, visitors need not check
/// their block for a walk.
class walk_count {
 public:
  void begin() noexcept {
    // (8) - this seq_cst-fetch-add is in one total order with the seq_cst-load (10) and
    // slot_state.hpp (2, 3, 4, 6)
    count_.fetch_add(1, std::memory_order_seq_cst);
  }
  void end() noexcept {
    // (9) - this release-fetch-sub synchronizes-with the seq_cst-load (10): a visitor that sees no
    // walk sees what earlier walks did
    count_.fetch_sub(1, std::memory_order_release);
  }
  /// Returns true if a walk may be running. If it returns false, any walk that begins later sees
  /// the changes of slot_states that the caller made before.
  [[nodiscard]] bool any() const noexcept {
    // (10) - this seq_cst-load synchronizes-with the release-fetch-sub (9). It is in one total
    // order with the seq_cst-fetch-add (8)
    return count_.load(std::memory_order_seq_cst) != 0;
  }

 private:
  atomic<std::uint32_t> count_{0};
};

}  // namespace lido::inline v0::detail
