/// @file
/// Internal. One thread's stack of free slots, which others can empty without its help.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "lido/base/unhooked_array.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/magazine/cache_control.hpp"
#include "lido/magazine/cache_sizing.hpp"

namespace lido::detail {

/// Place for the address of one free slot.
using cell = atomic<void*>;

/// How an owner protects its cache. revocable: not at all; a thief pays for a heavy fence. locked:
/// one private read-modify-write an operation, for systems without that fence.
enum class cache_kind : std::uint8_t { revocable, locked };

/// Cells that a cache grew into. Older ones live as long as the pool, since a thief may read them.
struct cell_block {
  unhooked_array<cell> cells;
  unhooked_array<cell_block> older;  // one
};

/// A revocable stack of slot addresses.
///
/// The owner pops and pushes with plain loads and stores, then looks at one bound (`low_` or
/// `high_`) that says at once: empty or full, or revoked. A thief announces itself in `control_`,
/// sets both bounds so that the next operation must fail, runs the heavy fence, copies the items
/// and claims them by a compare-and-swap on `control_`. After the fence at most one operation of
/// the owner can be in doubt, the one that straddles it; the owner finds in `control_` how many
/// items were claimed and knows from the position of its own item who has it. Nobody waits for
/// anybody. (Asymmetric fences after Dice, Huang, Yang 2001 and WG21 P1202; why not plain code:
/// Attiya et al., Laws of Order, POPL 2011.)
///
/// Invariants
///  I1 Only the owner writes `top_` and the cells.
///  I2 `control_` leaves `busy` and `frozen` only by the owner, `open` by the owner or a thief,
///     `revoking` by the owner, its thief, or a thief that takes over. Each change is a new
///     generation.
///  I3 The bounds allow hits only while the cache is open; the owner sets them only while `busy`.
///  I4 In `frozen` no item is in the cache and no operation completes as a hit.
/// Memory ordering: items, top (4, 5, 6) -> thief (12); control: see the notes.
/// Progress: hits wait-free without read-modify-write or fence; everything else lock-free, no
///   allocation.
class alignas(no_false_sharing) thread_cache {
 public:
  /// Closed, as close_bounds leaves it.
  thread_cache() noexcept {
    // relaxed: nobody else knows it yet
    top_.store(&guard_[1], std::memory_order_relaxed);
  }

  // ---- the owner's hit path -------------------------------------------------------------------

  /// Pops into `item`; false: not settled, call settle_pop.
  [[nodiscard, gnu::always_inline]] bool pop(void*& item) noexcept {
    // relaxed (2x): written by this thread alone
    cell* const top = top_.load(std::memory_order_relaxed) - 1;
    item = top->load(std::memory_order_relaxed);
    // (4) - this release-store synchronizes-with the acquire-load (12): a pop too must publish, or
    // the pushes before it would no longer be visible to a thief that reads this value
    top_.store(top, std::memory_order_release);
    light_fence();
    // relaxed: the light fence keeps the order, the thief's heavy fence does the rest
    return address(top) >= low_.load(std::memory_order_relaxed);
  }

  /// Pushes `item`; false: not settled, call settle_push.
  [[nodiscard, gnu::always_inline]] bool push(void* item) noexcept {
    // relaxed: written by this thread alone
    cell* const top = top_.load(std::memory_order_relaxed);
    // relaxed: published by (5)
    top->store(item, std::memory_order_relaxed);
    // (5) - this release-store synchronizes-with the acquire-load (12), so a thief sees the item
    top_.store(top + 1, std::memory_order_release);
    light_fence();
    // relaxed: as in pop
    return address(top + 1) <= high_.load(std::memory_order_relaxed);
  }

  // ---- the owner's hit path where the kind is locked ----------------------------------------

  /// The newest item, or null where only settle_pop can tell.
  [[nodiscard]] void* pop_locked() noexcept {
    // relaxed (2x): written by the owner alone
    const std::uint32_t count = count_.load(std::memory_order_relaxed);
    cache_control held;
    if (count == 0 || !try_hold_open(held)) {
      return nullptr;
    }
    void* const item = cells()[count - 1].load(std::memory_order_relaxed);
    end_hold(held, count - 1);
    return item;
  }

  /// Pushes `item` if fewer than `limit` are there; false: only settle_push can tell.
  [[nodiscard]] bool push_locked(void* item, std::uint32_t limit) noexcept {
    // relaxed: written by the owner alone
    const std::uint32_t count = count_.load(std::memory_order_relaxed);
    cache_control held;
    if (count >= limit || !try_hold_open(held)) {
      return false;
    }
    // relaxed: published by (15)
    cells()[count].store(item, std::memory_order_relaxed);
    end_hold(held, count + 1);
    return true;
  }

  // ---- the owner's slow path --------------------------------------------------------------------

  /// What the owner finds when it takes its cache into its own hands; the cache is then `busy`.
  struct settled {
    void* item;  ///< pop: the popped item or null; push: the item if it still needs a place
    std::uint32_t count;  ///< items in the cells
    bool robbed;          ///< a thief has emptied the cache
    bool contested;       ///< a theft was under way and is now cancelled
  };

  /// After a failed pop. Only the owner.
  [[nodiscard]] settled settle_pop(cache_kind kind) noexcept;

  /// After a failed push of `item`. Only the owner.
  [[nodiscard]] settled settle_push(cache_kind kind, void* item) noexcept;

  /// Between operations, e.g. when the thread ends. Only the owner.
  [[nodiscard]] settled settle(cache_kind kind) noexcept;

  /// Ends `busy`: `count` items in the cells, at most `limit` may be. Only the owner.
  void open(cache_kind kind, std::uint32_t count, std::uint32_t limit) noexcept;

  /// Ends `busy` with an empty cache that takes no hits. Only the owner.
  void close() noexcept;

  /// Only the owner, while `busy` or `frozen`. The first cell holds no item: a failing pop reads
  /// it.
  void use_cells(std::span<cell> cells) noexcept;
  [[nodiscard]] std::span<cell> cells() const noexcept;

  /// Whether the owner's own operations can only fail; then nobody else writes anything here. Only
  /// the owner, after a failed pop or push; forgets that operation.
  [[nodiscard]] bool forget_operation_if_idle() noexcept;

  // ---- thieves and spectators -----------------------------------------------------------------

  [[nodiscard]] cache_control control() const noexcept {
    // (7) - this acquire-load synchronizes-with the release-store (9, 10, 15) and the acq_rel-CAS
    // (3, 14)
    return cache_control(control_.load(std::memory_order_acquire));
  }

  /// Announces a theft from a cache seen `open` (or seen `revoking`: takes over from a thief that
  /// does not go on). Null if the cache has changed meanwhile.
  [[nodiscard]] std::optional<cache_control> revoke(cache_control seen) noexcept;

  /// After the heavy fence: claims all items and freezes the cache. Null: the owner was faster.
  [[nodiscard]] std::optional<std::uint32_t> harvest(cache_kind kind, cache_control announced,
                                                     std::span<void*> out) noexcept;

  /// Gives the theft up.
  void withdraw(cache_control announced) noexcept;

  /// Items in the cells, as seen from outside. Approximate beside a working owner.
  [[nodiscard]] std::uint32_t visible_count(cache_kind kind) const noexcept;

  // ---- the owner's notes (second line) ----------------------------------------------------------

  struct owner_notes {
    cache_sizing sizing;
    bool last_was_flush = false;
    bool active = false;               ///< counted as one of the pool's open caches
    unhooked_array<cell_block> grown;  ///< one: cells beyond those every cache starts with
    atomic<std::uint64_t> refills{0};
    atomic<std::uint64_t> flushes{0};
    atomic<std::int64_t> drawn{0};  ///< slots taken from the depot less slots given to it
  };
  [[nodiscard]] owner_notes& notes() noexcept { return notes_; }
  [[nodiscard]] const owner_notes& notes() const noexcept { return notes_; }

 private:
  static std::uintptr_t address(const cell* place) noexcept {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): cells of different arrays
    return reinterpret_cast<std::uintptr_t>(place);
  }

  struct taken_hold {
    cache_control before;
    bool robbed = false;
    bool contested = false;
  };

  [[nodiscard]] taken_hold take_hold() noexcept;

  // Open to busy, for one operation; false: a thief is here, or the cache is not open.
  [[nodiscard]] bool try_hold_open(cache_control& held) noexcept {
    // relaxed: the guard is for the owner alone
    top_.store(&guard_[1], std::memory_order_relaxed);
    // relaxed: only a guess, validated by (14)
    std::uint64_t word = control_.load(std::memory_order_relaxed);
    const cache_control seen(word);
    held = seen.next(cache_state::busy);
    // (14) - this acq_rel-CAS synchronizes-with the acq_rel-CAS (11, 13) and the acquire-load (7),
    // as (3) does. relaxed on failure: a thief is here, and (3) will see it
    return seen.state() == cache_state::open &&
           control_.compare_exchange_strong(word, held.word(), std::memory_order_acq_rel,
                                            std::memory_order_relaxed);
  }

  // `held` again and not a load: to read back what a read-modify-write has just written is slow.
  void end_hold(cache_control held, std::uint32_t count) noexcept {
    // relaxed: published by (15)
    count_.store(count, std::memory_order_relaxed);
    // (15) - this release-store synchronizes-with the acquire-load (7) and the acq_rel-CAS (11), so
    // a thief sees the cells and their number
    control_.store(held.next(cache_state::open).word(), std::memory_order_release);
  }

  [[nodiscard]] static std::int64_t position_in(std::span<cell> cells, const cell* top) noexcept;
  [[nodiscard]] std::int64_t position_of_top() const noexcept;
  [[nodiscard]] static std::uint32_t count_from(std::int64_t position) noexcept;
  void close_bounds() noexcept;
  void set_bounds(const cell* base, std::uint32_t limit) noexcept;

  static constexpr std::int64_t nowhere = -1;

  atomic<cell*> top_;  ///< one past the last item
  /// a pop below this has failed
  atomic<std::uintptr_t> low_{std::numeric_limits<std::uintptr_t>::max()};
  atomic<std::uintptr_t> high_{0};  ///< a push above this has failed
  atomic<std::uint64_t> control_{cache_control{}.word()};
  atomic<cell*> base_{nullptr};     ///< the cells; room for one item more than any limit
  atomic<std::uint32_t> room_{0};   ///< number of cells
  atomic<std::uint32_t> count_{0};  ///< items, where the kind is locked
  std::array<cell, 2> guard_;       ///< where the operations of a closed cache go

  alignas(cache_line) owner_notes notes_;
};

static_assert(sizeof(thread_cache) == 2 * cache_line);

// Owners only ever change to more cells, and say so last. A thief asks for the room first, so it
// never believes old cells to be as many as the new ones.

inline void thread_cache::use_cells(std::span<cell> cells) noexcept {
  // (16) - this release-store synchronizes-with the acquire-load (19): a thief that sees new cells
  // sees them initialised
  base_.store(cells.data() + 1, std::memory_order_release);
  // (17) - this release-store synchronizes-with the acquire-load (18)
  room_.store(static_cast<std::uint32_t>(cells.size() - 1), std::memory_order_release);
}

inline std::span<cell> thread_cache::cells() const noexcept {
  // (18) - this acquire-load synchronizes-with the release-store (17)
  const std::uint32_t room = room_.load(std::memory_order_acquire);
  // (19) - this acquire-load synchronizes-with the release-store (16)
  return {base_.load(std::memory_order_acquire), room};
}

}  // namespace lido::detail
