/// @file
/// Internal. 128 slots of a concurrent slot map, which a walk enters as a whole.
#pragma once

#include <cstdint>

#include "lido/base/tuning.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/debug/code_address.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/slot_map/slot_state.hpp"

namespace lido::inline v0::detail {

/// Lets a walk visit values without entering each; records where it is, and what it must destroy.
///
/// A walk enters by one compare-and-swap and announces by a store which value it visits; it changes
/// no state. One walk at a time: a second one enters value by value, as visitors do.
///
/// Invariants
///  W1 A visitor changes the state, then looks for a walk in the map and in the block. A walk
///     enters both, then reads the state.
///  W2 A visitor that sees a walk of another thread runs the heavy fence. Then it sees where the
///     walk is, and the walk sees the visitor at each value that it reaches.
///  W3 An erased value without visitors is destroyed by a thread that sees no walk, or by the walk.
///     A thread that needs its slot may destroy it, if after a heavy fence it sees the walk
///     elsewhere.
class alignas(cache_line) walk_block {
 public:
  using access = slot_state::access;
  static constexpr std::uint32_t size = 128;

  /// Enters the block. Returns false if another walk is in it, or the system lacks the heavy fence.
  [[nodiscard]] bool try_enter(access how) noexcept {
    const std::uint64_t walk =
        std::uint64_t{this_thread_id()} << thread_shift | (how == access::alone ? alone : 0);
    std::uint64_t none = 0;
    // (1) - this seq_cst-CAS synchronizes-with the acq_rel-exchange (2): the walk sees what the one
    // before did. It is in one total order with the seq_cst-load (7) and slot_state.hpp (2, 3, 4,
    // 6). On failure relaxed: nothing is read
    return heavy_fence_available() &&
           word_.compare_exchange_strong(none, walk, std::memory_order_seq_cst,
                                         std::memory_order_relaxed);
  }

  /// Leaves the current value. Returns true if the walk now has the value at `index`; if not, it
  /// must enter that as a visitor does, if there is one.
  [[nodiscard]] bool come_to(std::uint32_t index, const slot_state& state, access how) noexcept {
    say(index);
    if (state.admits(how)) [[likely]] {
      return true;
    }
    say(size);
    return false;
  }

  /// Leaves the block. Returns the index of an erased value plus 1, from where the list continues,
  /// or 0 if there is none. The walk must destroy these values.
  [[nodiscard]] std::uint32_t leave() noexcept {
    say(size);
    // (2) - this acq_rel-exchange synchronizes-with the seq_cst-CAS (1), the release-CAS (5) and
    // the seq_cst-load (7): all see what the walk did, and the walk what erasers and visitors did
    return static_cast<std::uint32_t>(word_.exchange(0, std::memory_order_acq_rel) & erased);
  }

  /// Takes all erased values away from a walk. Requires: the caller runs the heavy fence before it
  /// asks `is_at`, and leaves the walk's current value to it.
  [[nodiscard]] std::uint32_t take_erased() noexcept {
    std::uint64_t before = word();
    // (3) - this acquire-CAS synchronizes-with the release-CAS (5): the caller sees what erasers
    // and visitors did. On failure relaxed: looked at again
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

  /// Waits while a walk that excludes this visitor, which has entered, is at the value. The walk
  /// may have erased it. Returns false if the kernel refuses the fence: leave and try again.
  [[nodiscard]] bool let_pass(std::uint32_t index, access how) const noexcept {
    return !excludes(word(), how) || wait_for_walk(index, how);
  }

  /// Leaves a value to the walk. Returns false if there is none, so that the caller must destroy
  /// the value. Requires: the value is erased, and no thread has entered it.
  [[nodiscard]] bool put_erased(slot_state& state, std::uint32_t index) noexcept {
    for (std::uint64_t before = word(); before != 0; before = word()) {
      state.set_next(static_cast<std::uint32_t>(before & erased));
      // (5) - this release-CAS synchronizes-with the acq_rel-exchange (2) and the acquire-CAS (3).
      // On failure relaxed: looked at again
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

  [[nodiscard, LIDO_NOINLINE]] bool wait_for_walk(std::uint32_t index, access how) const noexcept {
    const bool own = word() >> thread_shift == this_thread_id();
    exponential_backoff backoff;
    // About as long as a fence takes. Most walks have left by then.
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

  atomic<std::uint64_t> word_{0};  ///< the walk's thread, whether it is alone; erased values
  atomic<std::uint32_t> at_{size};
};

/// The number of walks in the map. While it is 0, visitors need not look at the block.
class walk_count {
 public:
  void begin() noexcept {
    // (8) - this seq_cst-fetch-add is in one total order with the seq_cst-load (10) and
    // slot_state.hpp (2, 3, 4, 6)
    count_.fetch_add(1, std::memory_order_seq_cst);
  }
  void end() noexcept {
    // (9) - this release-fetch-sub synchronizes-with the seq_cst-load (10): a visitor that sees no
    // walk sees what the last ones did
    count_.fetch_sub(1, std::memory_order_release);
  }
  /// Returns false if a walk that begins now sees what the caller has changed in a state.
  [[nodiscard]] bool any() const noexcept {
    // (10) - this seq_cst-load synchronizes-with the release-fetch-sub (9). It is in one total
    // order with the seq_cst-fetch-add (8)
    return count_.load(std::memory_order_seq_cst) != 0;
  }

 private:
  atomic<std::uint32_t> count_{0};
};

}  // namespace lido::inline v0::detail
