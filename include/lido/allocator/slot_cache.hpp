/// @file
/// Internal. One thread's stack of free slots, which others can empty without its help.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "lido/allocator/options.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

/// A revocable stack of slot addresses.
///
/// The owner pops and pushes with plain loads and stores, then looks at one bound (`low_` or
/// `high_`) that says at once: empty or full, or revoked. A thief announces itself in `control_`,
/// and sets both bounds so that the next operation must fail. It runs the heavy fence, copies the
/// items, and claims them by a compare-and-swap on `control_`. After the fence at most one
/// operation of the owner can be in doubt, the one that straddles it. The owner finds in `control_`
/// how many items were claimed, and knows from the position of its own item whether it is among
/// them. No thread waits for another. (Asymmetric fences after Dice, Huang, Yang 2001 and WG21
/// P1202; why not plain code: Attiya et al., Laws of Order, POPL 2011.)
///
/// Offsets are distances in bytes from the cache itself, so zeroed memory is a closed cache. At
/// top 0 a push fills `guard_`, a pop reads the word before the cache, and both fail. So do a pop
/// at top 8 and a push at top -8, which a fork can leave: hence signed pops and unsigned pushes.
///
/// Invariants
///  I1 Only the owner writes `top_` and the cells.
///  I2 `control_` leaves `busy` and `frozen` only by the owner, `open` by the owner or a thief,
///     `revoking` by the owner, its thief, or a thief that takes over. Each change is a new
///     generation.
///  I3 The bounds allow hits only while the cache is open; the owner sets them only while `busy`.
///  I4 In `frozen` no item is in the cache and no operation completes as a hit.
/// Memory ordering: items and top -> thief, control in all directions: see the notes.
/// Progress: hits wait-free without read-modify-write or fence; the rest lock-free, no allocation.
class alignas(cache_line) slot_cache {
 public:
  /// The cell for the address of one free slot.
  using cell = atomic<void*>;

  /// Most items that a cache may ever hold; `taken` can represent more.
  static constexpr std::uint32_t most_items = 1022;

  /// frozen: the first `taken` items are no longer the owner's, and no operation completes before
  /// the owner has seen it. Unused caches are frozen, too. open: the owner pops and pushes freely.
  /// revoking: a thief has announced itself. busy: the owner moves items; 1 `taken`: one, in a hit.
  enum class phase : std::uint8_t { frozen, open, revoking, busy };

  /// A phase, the number of items taken, and a generation that moves with every change: the word
  /// that decides between the owner and thieves.
  ///
  /// 46 bits of generation: at ten million changes a second it repeats after 81 days.
  class control {
   public:
    constexpr control() = default;
    explicit constexpr control(std::uint64_t word) noexcept : word_(word) {}

    [[nodiscard]] constexpr phase now() const noexcept { return static_cast<phase>(word_ & 3U); }
    [[nodiscard]] constexpr std::uint32_t taken() const noexcept { return (word_ >> 2U) & 0xFFFFU; }
    [[nodiscard]] constexpr std::uint64_t generation() const noexcept { return word_ >> 18U; }
    [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }

    /// Returns the word that follows this one.
    [[nodiscard]] constexpr control next(phase now, std::uint32_t taken = 0) const noexcept {
      return control((generation() + 1) << 18U | std::uint64_t{taken} << 2U |
                     static_cast<std::uint64_t>(now));
    }

   private:
    std::uint64_t word_ = 0;
  };

  // ---- the owner's hit path -------------------------------------------------------------------

  /// Pops into `item`. Returns false if the pop is in doubt; settle_pop must follow.
  [[nodiscard, LIDO_FAST_PATH]] bool pop(void*& item) noexcept {
    // relaxed (2x): written by this thread alone
    const std::int64_t top = top_.load(std::memory_order_relaxed) - cell_bytes;
    item = at(top).load(std::memory_order_relaxed);
    // (1) - this release-store synchronizes-with the acquire-load (15): a pop too
    // must publish, or the pushes before it would no longer be visible to a thief that reads this
    // value
    top_.store(top, std::memory_order_release);
    light_fence();
    // relaxed: the light fence keeps the order, the thief's heavy fence does the rest
    return top > low_.load(std::memory_order_relaxed);
  }

  /// Pushes `item`. Returns false if the push is in doubt; settle_push must follow.
  [[nodiscard, LIDO_FAST_PATH]] bool push(void* item) noexcept {
    // relaxed: written by this thread alone
    const std::int64_t top = top_.load(std::memory_order_relaxed);
    // relaxed: published by (2)
    at(top).store(item, std::memory_order_relaxed);
    // (2) - this release-store synchronizes-with the acquire-load (15), so a thief sees the item
    top_.store(top + cell_bytes, std::memory_order_release);
    light_fence();
    // relaxed: as in pop
    return static_cast<std::uint64_t>(top) < high_.load(std::memory_order_relaxed);
  }

  // relaxed (whole function): a number that the owner alone writes, in the line of the hit
  [[LIDO_FAST_PATH]] void count_hit() noexcept {
    hits_.store(hits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// Pops the newest item. Returns null if settle_pop must decide. In a locked cache this replaces
  /// `pop`, and push_locked replaces `push`.
  [[nodiscard]] void* pop_locked() noexcept;

  /// Pushes `item` if fewer than `limit` are there. Returns false if settle_push must decide.
  [[nodiscard]] bool push_locked(void* item, std::uint32_t limit) noexcept;

  // ---- the owner's slow path ------------------------------------------------------------------

  /// State that the owner finds when it takes control of its cache, which is then `busy`.
  struct settled {
    void* item;           ///< pop: the popped item or null; push: the item if it still needs a cell
    std::uint32_t count;  ///< items in the cells
    bool robbed;          ///< a thief has emptied the cache
    bool contested;       ///< a theft was under way and is now cancelled
  };

  /// Decides a failed pop. Only the owner.
  [[nodiscard]] settled settle_pop(lido::cache_kind kind) noexcept;

  /// Decides a failed push of `item`. Only the owner.
  [[nodiscard]] settled settle_push(lido::cache_kind kind, void* item) noexcept;

  /// Takes control between operations, e.g. when the thread ends. Only the owner.
  [[nodiscard]] settled settle(lido::cache_kind kind) noexcept;

  /// Ends `busy`: the cells contain `count` items and may get at most `limit`. Only the owner.
  void open(lido::cache_kind kind, std::uint32_t count, std::uint32_t limit) noexcept;

  /// Ends `busy` with an empty cache that takes no hits. Only the owner.
  void close() noexcept;

  /// Replaces the cells. Only the owner, while `busy` or `frozen`. The first cell stays empty: a
  /// failing pop reads it.
  void use_cells(std::span<cell> cells) noexcept;
  [[nodiscard]] std::span<cell> cells() const noexcept;

  /// Returns true if the owner's own operations can only fail; then no other thread writes here.
  /// Only the owner, after a failed pop or push; forgets that operation.
  [[nodiscard]] bool forget_operation_if_idle() noexcept;

  /// Forgets a failed operation in a cache that is never opened.
  // relaxed (whole function): for the owner alone
  void forget_operation() noexcept { top_.store(0, std::memory_order_relaxed); }

  // ---- thieves and spectators -----------------------------------------------------------------

  [[nodiscard]] control state() const noexcept {
    // (3) - this acquire-load synchronizes-with the acq_rel-CAS (8, 10) and the release-store
    // (9, 12, 13)
    return control(control_.load(std::memory_order_acquire));
  }

  /// Announces a theft from a cache seen `open`, or seen `revoking`: then takes over from a stalled
  /// thief. Returns null if the cache has changed since.
  [[nodiscard]] std::optional<control> revoke(control seen) noexcept;

  /// Claims all items and freezes the cache, after the heavy fence. Null if the owner was faster.
  [[nodiscard]] std::optional<std::uint32_t> harvest(lido::cache_kind kind, control announced,
                                                     std::span<void*> out) noexcept;

  /// Gives up the theft.
  void withdraw(control announced) noexcept;

  [[nodiscard]] std::uint64_t hits() const noexcept;
  /// Returns the number of items in the cells, approximate while the owner works.
  [[nodiscard]] std::uint32_t visible_count(lido::cache_kind kind) const noexcept;

 private:
  static constexpr std::int64_t cell_bytes = sizeof(cell);
  static constexpr std::int64_t nowhere = -1;

  // An address, since cells lie in other arrays, too.
  [[nodiscard, LIDO_FAST_PATH]] cell& at(std::int64_t offset) const noexcept {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast,performance-no-int-to-ptr)
    return *reinterpret_cast<cell*>(address() + static_cast<std::uintptr_t>(offset));
  }
  [[nodiscard, LIDO_FAST_PATH]] std::uintptr_t address() const noexcept {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as above
    return reinterpret_cast<std::uintptr_t>(this);
  }

  struct taken_hold {
    control before;
    bool robbed = false;
    bool contested = false;
  };

  [[nodiscard]] taken_hold take_hold() noexcept;
  [[nodiscard, LIDO_FAST_PATH]] inline bool try_hold_open(control& held) noexcept;
  [[LIDO_FAST_PATH]] inline void end_hold(control held, std::uint32_t count) noexcept;

  [[nodiscard]] std::int64_t position_of(std::int64_t top, std::span<cell> cells) const noexcept;
  [[nodiscard]] std::int64_t position_of_top() const noexcept;
  [[nodiscard]] static std::uint32_t count_from(std::int64_t position) noexcept;
  void close_bounds() noexcept;

  cell guard_;                  ///< cell that a push into a closed cache fills
  atomic<std::int64_t> top_;    ///< offset after the last item
  atomic<std::int64_t> low_;    ///< offset at or below which a pop has failed
  atomic<std::uint64_t> high_;  ///< offset from which on a push has failed
  atomic<std::uint64_t> control_;
  atomic<std::int64_t> base_;         ///< offset of the cells, one more than any limit
  atomic<std::uint32_t> cell_count_;  ///< number of cells
  atomic<std::uint32_t> count_;       ///< items, if the kind is locked
  atomic<std::uint64_t> hits_;        ///< if the pool counts them
};

static_assert(sizeof(slot_cache) == cache_line);

inline std::span<slot_cache::cell> slot_cache::cells() const noexcept {
  // (4) - this acquire-load synchronizes-with the release-store (7)
  const std::uint32_t count = cell_count_.load(std::memory_order_acquire);
  // (5) - this acquire-load synchronizes-with the release-store (6)
  return {&at(base_.load(std::memory_order_acquire)), count};
}

}  // namespace lido::inline v0::detail
