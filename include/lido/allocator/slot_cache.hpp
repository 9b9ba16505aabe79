/// @file
/// Internal. One thread's stack of free slots, which other threads can empty without its help.
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
/// The owner pops and pushes with plain loads and stores. It then checks one bound (`low_` or
/// `high_`). This single check fails if the cache was empty or full, and also if it was revoked. A
/// thief announces itself in `control_`, and sets both bounds so that the owner's next operation
/// must fail. The thief then runs the heavy fence, copies the items, and claims them with a
/// compare-and-swap on `control_`. After the fence, at most one operation of the owner is in doubt:
/// the one that straddles the fence. The owner reads in `control_` how many items were claimed. The
/// position of its own item tells it whether that item is among them. No thread waits for another.
/// (Asymmetric fences: Dice, Huang, Yang 2001 and WG21 P1202. Why plain code is not enough: Attiya
/// et al., Laws of Order, POPL 2011.)
///
/// Offsets are distances in bytes from the cache itself, so zeroed memory is a closed cache. If the
/// top is 0, a push fills `guard_`, a pop reads the word before the cache, and both fail. A fork
/// can leave the top at 8 or at -8. A pop at 8 and a push at -8 must fail, too: therefore pops
/// compare signed offsets, and pushes compare unsigned offsets.
///
/// Invariants
///  I1 Only the owner writes `top_` and the cells.
///  I2 Only the owner ends the phases `busy` and `frozen`. The owner or a thief ends `open`. The
///     owner, the thief that announced itself, or a thief that takes over ends `revoking`. Each
///     change of `control_` starts a new generation.
///  I3 The bounds allow hits only while the cache is `open`. The owner sets them only while the
///     cache is `busy`.
///  I4 While the cache is `frozen`, it contains no items and no operation completes as a hit.
/// Memory ordering: the owner publishes items and top to thieves. The owner and thieves publish
///   changes of `control_` to each other. See the notes.
/// Progress: hits are wait-free, without a read-modify-write or a fence. The rest is lock-free.
///   Nothing allocates.
class alignas(cache_line) slot_cache {
 public:
  /// The cell for the address of one free slot.
  using cell = atomic<void*>;

  /// Maximum number of items in a cache; `taken` can represent more.
  static constexpr std::uint32_t most_items = 1022;

  /// frozen: a thief has taken the first `taken` items, and no operation completes before the owner
  /// has seen that. Unused caches are frozen, too. open: the owner pops and pushes freely.
  /// revoking: a thief has announced itself. busy: the owner is moving items. If `taken` is 1, the
  /// owner moves a single item in a hit.
  enum class phase : std::uint8_t { frozen, open, revoking, busy };

  /// A phase, the number of items taken, and a generation that increases with every change. If the
  /// owner and thieves compete for the items, this word decides which thread gets them.
  ///
  /// The generation has 46 bits: at ten million changes per second, it repeats after 81 days.
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

  /// Pops the newest item into `item`. Returns false if the pop is in doubt; the caller must then
  /// call settle_pop.
  [[nodiscard, LIDO_FAST_PATH]] bool pop(void*& item) noexcept {
    // relaxed (2x): written by this thread alone
    const std::int64_t top = top_.load(std::memory_order_relaxed) - cell_bytes;
    item = at(top).load(std::memory_order_relaxed);
    // (1) - this release-store synchronizes-with the acquire-load (15): a pop must publish, too.
    // Otherwise the pushes before it would not be visible to a thief that reads this value
    top_.store(top, std::memory_order_release);
    light_fence();
    // relaxed: the light fence keeps the compiler's order; the thief's heavy fence does the rest
    return top > low_.load(std::memory_order_relaxed);
  }

  /// Pushes `item`. Returns false if the push is in doubt; the caller must then call settle_push.
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

  // relaxed (whole function): only the owner writes the count. The count is in a cache line that
  // every hit uses anyway
  [[LIDO_FAST_PATH]] void count_hit() noexcept {
    hits_.store(hits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// Pops the newest item. Returns null if settle_pop must decide. In a locked cache, this function
  /// replaces `pop`, and push_locked replaces `push`.
  [[nodiscard]] void* pop_locked() noexcept;

  /// Pushes `item` if the cache contains fewer than `limit` items. Returns false if settle_push
  /// must decide.
  [[nodiscard]] bool push_locked(void* item, std::uint32_t limit) noexcept;

  // ---- the owner's slow path ------------------------------------------------------------------

  /// State that the owner finds when it takes control of its cache, which is then `busy`.
  struct settled {
    void* item;           ///< pop: the popped item or null; push: the item if it still needs a cell
    std::uint32_t count;  ///< items in the cells
    bool robbed;          ///< a thief has emptied the cache
    bool contested;       ///< a theft was in progress and is now cancelled
  };

  /// Decides a failed pop. Called only by the owner.
  [[nodiscard]] settled settle_pop(lido::cache_kind kind) noexcept;

  /// Decides a failed push of `item`. Called only by the owner.
  [[nodiscard]] settled settle_push(lido::cache_kind kind, void* item) noexcept;

  /// Takes control between operations, for example when the thread ends. Called only by the owner.
  [[nodiscard]] settled settle(lido::cache_kind kind) noexcept;

  /// Ends `busy` and opens the cache: the cells contain `count` items and may hold at most `limit`.
  /// Called only by the owner.
  void open(lido::cache_kind kind, std::uint32_t count, std::uint32_t limit) noexcept;

  /// Ends `busy` and closes the cache, which is then empty and allows no hits. Called only by the
  /// owner.
  void close() noexcept;

  /// Replaces the cells. The first cell stays empty, because a failing pop reads it. Called only by
  /// the owner, while the cache is `busy` or `frozen`.
  void use_cells(std::span<cell> cells) noexcept;
  [[nodiscard]] std::span<cell> cells() const noexcept;

  /// If the owner's operations in this cache can only fail, forgets a failed pop or push and
  /// returns true. No other thread writes to such a cache. Called only by the owner, after the
  /// failed pop or push.
  [[nodiscard]] bool forget_operation_if_idle() noexcept;

  /// Forgets a failed operation in a cache that is never opened.
  // relaxed (whole function): the value matters only to the owner
  void forget_operation() noexcept { top_.store(0, std::memory_order_relaxed); }

  // ---- thieves and spectators -----------------------------------------------------------------

  [[nodiscard]] control state() const noexcept {
    // (3) - this acquire-load synchronizes-with the acq_rel-CAS (8, 10) and the release-store
    // (9, 12, 13)
    return control(control_.load(std::memory_order_acquire));
  }

  /// Announces a theft from a cache that was `open` in `seen`. If it was `revoking`, takes over
  /// from a stalled thief. Returns null if the cache has changed since then.
  [[nodiscard]] std::optional<control> revoke(control seen) noexcept;

  /// Copies all items to `out`, claims them, and freezes the cache. Returns their number, or null
  /// if the owner was faster. Called after the heavy fence.
  [[nodiscard]] std::optional<std::uint32_t> harvest(lido::cache_kind kind, control announced,
                                                     std::span<void*> out) noexcept;

  /// Gives up the announced theft.
  void withdraw(control announced) noexcept;

  [[nodiscard]] std::uint64_t hits() const noexcept;
  /// Returns the number of items in the cells. The number is approximate while the owner uses the
  /// cache.
  [[nodiscard]] std::uint32_t visible_count(lido::cache_kind kind) const noexcept;

 private:
  static constexpr std::int64_t cell_bytes = sizeof(cell);
  static constexpr std::int64_t nowhere = -1;

  // The cell is reached through a computed address, because cells also lie in other arrays.
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
  atomic<std::int64_t> low_;    ///< a pop fails if its offset is not above this
  atomic<std::uint64_t> high_;  ///< a push fails if its offset is not below this
  atomic<std::uint64_t> control_;
  atomic<std::int64_t> base_;         ///< offset of the cells
  atomic<std::uint32_t> cell_count_;  ///< number of cells, one more than any limit
  atomic<std::uint32_t> count_;       ///< number of items, if the kind is locked
  atomic<std::uint64_t> hits_;        ///< number of hits, if the pool counts them
};

static_assert(sizeof(slot_cache) == cache_line);

inline std::span<slot_cache::cell> slot_cache::cells() const noexcept {
  // (4) - this acquire-load synchronizes-with the release-store (7)
  const std::uint32_t count = cell_count_.load(std::memory_order_acquire);
  // (5) - this acquire-load synchronizes-with the release-store (6)
  return {&at(base_.load(std::memory_order_acquire)), count};
}

}  // namespace lido::inline v0::detail
