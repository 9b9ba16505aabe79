/// @file
/// Internal. The shared store of free slots, which keeps them in whole magazines and as single
/// slots.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "../freelist/treiber_list.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/memory_cursor.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/base/tuning.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/zeroed_array.hpp"
#include "lido/freelist/index_list.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

/// Number of slots in a magazine.
inline constexpr std::uint32_t magazine_size = tuning::magazine_size;

/// Largest number of slots that one trip to the depot moves. All magazines of a trip are moved by
/// one change of a list head.
inline constexpr std::uint32_t most_per_trip = tuning::magazines_per_trip * magazine_size;

/// A contiguous array of slot indices (Bonwick and Adams, USENIX 2001). The array is contiguous
/// because handing a chain of slots to another core costs a cache miss for each link, while an
/// array costs only two misses.
///
/// A cell stores the difference between its slot and `first_slot`, so that zeroed memory represents
/// full magazines.
struct alignas(magazine_size * sizeof(slot_index)) magazine {
  std::array<atomic<slot_index>, magazine_size> cells;
};

/// A list of the depot. It is either one of Lido's own lists, which is called directly, or a list
/// of another library.
class depot_list {
 public:
  /// Creates a list in the same way as shared_list::make. `others` creates lists of another
  /// library; it is null for Lido's own lists.
  depot_list(const shared_list* others, std::uint32_t nodes, slot_index first, growth kind)
      : own_(others == nullptr ? nodes : 0, others == nullptr ? first : 0, kind),
        other_(others == nullptr ? nullptr : others->make(nodes, first, kind)) {}

  /// Creates a list of Lido's own with the indices from `first` to nodes - 1. Requires: the same as
  /// for zeroed_array::placed.
  depot_list(std::uint32_t nodes, slot_index first, void* links) noexcept
      : own_(nodes, first, zeroed_array<atomic<slot_index>>::placed{links}) {}

  /// Creates an empty list. A list of Lido's own uses the links of `owner`. Requires: `owner`
  /// outlives the list.
  depot_list(const shared_list* others, depot_list& owner, std::uint32_t nodes, growth kind)
      : own_(treiber_list::sharing{owner.own_}),
        other_(others == nullptr ? nullptr : others->make(nodes, nodes, kind)) {}

  void push(slot_index index) noexcept {
    return other_ == nullptr ? own_.push(index) : other_->push(index);
  }
  void push_chain(std::span<const slot_index> chain) noexcept {
    return other_ == nullptr ? own_.push_chain(chain) : other_->push_chain(chain);
  }
  [[nodiscard]] slot_index pop() noexcept { return other_ == nullptr ? own_.pop() : other_->pop(); }
  [[nodiscard]] std::uint32_t pop_chain(std::span<slot_index> out) noexcept {
    return other_ == nullptr ? own_.pop_chain(out) : other_->pop_chain(out);
  }
  [[nodiscard]] bool empty() const noexcept { return list().empty(); }
  /// Returns true if the top index is less than `mark()`. Calls `mark` after it has read the top.
  /// Requires: the list is Lido's own.
  template <class Mark>
  [[nodiscard]] bool is_top_below(Mark mark) const noexcept {
    const slot_index top = own_.top();
    return top < mark();
  }
  [[nodiscard]] std::uint64_t version() const noexcept { return list().version(); }
  [[nodiscard]] std::size_t memory() const noexcept { return list().memory(); }
  void add_to(slot_pool_stats& stats) const noexcept {
    if (other_ == nullptr) {
      const std::uint64_t headroom = std::uint64_t{1} << own_.tag_bits();
      stats.cas_retries = stats.cas_retries.value_or(0) + own_.retries();
      stats.tag_headroom = (std::min)(stats.tag_headroom.value_or(headroom), headroom);
    }
  }
  [[nodiscard]] int extend_to(std::uint32_t nodes) noexcept {
    return other_ == nullptr ? own_.extend_to(nodes) : other_->extend_to(nodes);
  }
  /// Removes all indices, and then stores those from `first` on. Requires: as index_list::restart;
  /// if the list is Lido's own, the links of these indices are zeros.
  void restart(slot_index first, std::uint32_t nodes) noexcept {
    return other_ == nullptr ? own_.renew(first) : other_->restart(first, nodes);
  }
  /// Clears links before `restart`, if this is Lido's own list; see treiber_list.
  void clear_links(slot_index first, slot_index last) noexcept {
    if (other_ == nullptr) {
      own_.clear_links(first, last);
    }
  }

  /// Makes an empty list of Lido's own for the same nodes, which shares the links of this list if
  /// this list is Lido's own. Throws std::bad_alloc. Requires: this list outlives the result.
  [[nodiscard]] std::unique_ptr<treiber_list> make_sibling(std::uint32_t nodes, growth kind) {
    return other_ == nullptr ? std::make_unique<treiber_list>(treiber_list::sharing{own_})
                             : std::make_unique<treiber_list>(nodes, nodes, kind);
  }
  /// Makes such a list in `memory`. Requires: this list is Lido's own.
  [[nodiscard]] treiber_list* make_sibling_in(void* memory) noexcept {
    return ::new (memory) treiber_list(treiber_list::sharing{own_});
  }

 private:
  [[nodiscard]] const index_list& list() const noexcept {
    if (other_ == nullptr) {
      return own_;
    }
    return *other_;
  }

  // `other_` shares a cache line with the head of `own_`, which is used right after `other_` is
  // read.
  [[LIDO_NO_UNIQUE_ADDRESS]] treiber_list own_;
  std::unique_ptr<index_list> other_;
};

static_assert(LIDO_REUSES_PADDING == 0 || sizeof(depot_list) == sizeof(treiber_list));

/// The part of the depot that a thread uses. The thread stores slots in this part, and takes slots
/// from it first.
struct depot_home {
  std::uint32_t shard = 0;  ///< shard that the thread uses first; 0: the common part
  bool roams = false;       ///< takes slots of other shards before those of the common part
};

/// Stores all free slots that are in no cache.
///
/// Large pools have shards: each thread gets back slots that it has stored itself, so that
/// neighbours in memory stay with one processor. Slots that no thread has used yet are in the
/// common part. They leave the common part in whole runs, and each run goes to one thread. The
/// lists of all shards share one array of links.
///
/// A thread that visits all free slots, one after the other, first sets them aside: it moves them
/// to a separate list. `take` uses the slots of this list only if there are no others.
///
/// Invariants
///  I1 Each magazine is in exactly one place: in a `full` list (it then contains 32 slots), in an
///     `empty` list, or in the hands of a thread.
///  I2 Each slot is in exactly one place: in a list of singles, in a full magazine, in the list of
///     slots set aside, in a cache, or in the hands of a thread.
///  I3 There are so few magazines that magazines and links together cost at most 8 bytes per slot,
///     not counting the heads of shards. If no empty magazine is left, slots go to `singles`, whose
///     links suffice for all slots.
///  I4 Zeroed memory is the initial state, in which every slot is free, so construction writes
///     nothing.
/// Memory ordering: cells of magazines are written and read relaxed; the push -> pop edges of the
///   lists carry the cells from one thread to the next.
/// Progress: lock-free. Never allocates after construction.
class depot {
 public:
  /// Creates a depot in which every slot is free, with low indices on top. A depot that grows
  /// starts without slots. `others` is null for Lido's own lists; only a depot of such lists has
  /// shards. `sets_aside` is true if slots may be set aside. Throws std::bad_alloc.
  depot(std::uint32_t capacity, growth kind, const shared_list* others = nullptr,
        bool sets_aside = false)
      : depot(capacity, affordable_magazines(capacity), kind, others) {
    if (others == nullptr && capacity >= tuning::slots_for_shards) {
      shards_ =
          make_shards(::operator new (sizeof(shard_array), std::align_val_t{alignof(shard_array)}),
                      common_, std::make_index_sequence<tuning::shards>());
    }
    note_untouched();
    if (sets_aside) {
      aside_ = common_.singles.make_sibling(capacity, kind).release();
    }
  }
  depot(const depot&) = delete;
  depot& operator=(const depot&) = delete;
  ~depot() {
    end_part(aside_);
    end_part(shards_);
  }

  /// Memory for the tables of a depot of Lido's own lists.
  struct tables {
    void* magazines;
    void* slot_links;
    void* magazine_links;
    void* shards;  ///< null if the depot has no shards
    void* aside;   ///< null if the depot sets no slots aside
  };
  /// Takes zeroed memory for the tables of a depot from `memory`.
  [[nodiscard]] static tables take_tables(memory_cursor& memory, std::uint32_t capacity,
                                          bool sets_aside) noexcept {
    const std::uint32_t magazines = affordable_magazines(capacity);
    // The order of initialisers is the order of the tables.
    return {memory.take_zeros(magazines * sizeof(magazine), alignof(magazine)),
            memory.take_zeros(treiber_list::bytes_needed(capacity), alignof(atomic<slot_index>)),
            memory.take_zeros(treiber_list::bytes_needed(magazines), alignof(atomic<slot_index>)),
            capacity < tuning::slots_for_shards
                ? nullptr
                : memory.take(sizeof(shard_array), alignof(shard_array)),
            sets_aside ? memory.take(sizeof(treiber_list), alignof(treiber_list)) : nullptr};
  }

  /// Creates a depot in which every slot is free, with low indices on top. Requires: `take_tables`
  /// returned `in` for this capacity, and its memory outlives the depot.
  depot(std::uint32_t capacity, const tables& in) noexcept
      : capacity_(capacity),
        kind_(growth::none),
        is_placed_(true),
        magazines_(affordable_magazines(capacity), zeroed_array<magazine>::placed{in.magazines}),
        common_(capacity, affordable_magazines(capacity), in) {
    if (in.shards != nullptr) {
      shards_ = make_shards(in.shards, common_, std::make_index_sequence<tuning::shards>());
    }
    note_untouched();
    if (in.aside != nullptr) {
      aside_ = common_.singles.make_sibling_in(in.aside);
    }
  }

  /// Returns the shard in which a thread with the number `number` stores slots. `number` is 0 for a
  /// thread without a number.
  [[nodiscard]] std::uint32_t shard_of(std::uint32_t number) const noexcept {
    return number == 0 || shards_ == nullptr ? 0 : 1 + number % tuning::shards;
  }

  /// Adds memory for the slots below `slots`. All other operations may run at the same time, but
  /// only one thread at a time may call this. Returns 0, or the error number of the system. After
  /// an error, some of the memory may have been added.
  [[nodiscard]] int extend_to(std::uint32_t slots) noexcept {
    const std::uint32_t count = affordable_magazines(slots);
    const auto before = static_cast<std::uint32_t>(magazines_.size());
    int error = common_.singles.extend_to(slots);
    error = error != 0 ? error : common_.full.extend_to(count);
    error = error != 0 ? error : common_.empty.extend_to(count);
    error = error != 0 ? error : magazines_.extend_to(count);
    error = error != 0 || aside_ == nullptr ? error : aside_->extend_to(slots);
    for (std::uint32_t id = before; error == 0 && id < count; ++id) {
      common_.empty.push(id);
    }
    return error;
  }

  /// Stores the slots from `first` to `last` - 1 in the common part, low slots on top. Requires:
  /// there is memory for these slots.
  void add(slot_index first, slot_index last) noexcept {
    std::array<slot_index, magazine_size> chunk;
    while (last > first) {
      const std::uint32_t size = (std::min)(magazine_size, last - first);
      // Lists the slots in descending order, because a cache hands out its last slot first.
      std::generate_n(chunk.begin(), size, [&last] { return --last; });
      give({}, std::span(chunk).first(size));
    }
  }

  /// Pops a single slot. Returns null_slot if the caller must search runs and magazines instead.
  [[nodiscard]] slot_index pop_single(depot_home at) noexcept {
    shard& own = shard_at(at.shard);
    slot_index slot = own.singles.pop();
    if (slot == null_slot && shards_ != nullptr && own.full.empty() && common_.is_bare()) {
      for (std::uint32_t i = 1; i < parts() && slot == null_slot; ++i) {
        slot = shard_at((at.shard + i) % parts()).singles.pop();
      }
    }
    if (shards_ != nullptr && slot != null_slot) {
      note_touched(untouched_single_, {&slot, 1});
    }
    return slot;
  }
  void push_single(depot_home at, slot_index slot) noexcept {
    shard_at(at.shard).singles.push(slot);
  }

  /// Takes up to `want` slots, or a whole run if nothing smaller is available. Returns the number
  /// of slots taken. Requires: out.size() >= max(want, magazine_size).
  [[nodiscard]] std::uint32_t take(depot_home at, std::span<slot_index> out,
                                   std::uint32_t want) noexcept {
    const std::uint32_t count = take_stored(at, out, want);
    return count == 0 && aside_ != nullptr ? aside_->pop_chain(out.first(want)) : count;
  }

  /// Takes slots in the same way as `take`, but none that are set aside.
  [[nodiscard]] std::uint32_t take_stored(depot_home at, std::span<slot_index> out,
                                          std::uint32_t want) noexcept {
    LIDO_ASSERT(out.size() >= (std::max)(want, magazine_size), "a take into too few cells");
    shard& own = shard_at(at.shard);
    std::uint32_t count = take_from(own, own, out, want);
    if (count != 0 || shards_ == nullptr) [[likely]] {
      return count;
    }
    count = at.roams ? 0 : take_fresh(own, out, want);
    for (std::uint32_t i = 1; count == 0 && i < parts(); ++i) {
      if (shard& other = shard_at((at.shard + i) % parts()); &other != &common_) {
        count = take_from(other, other, out, want);
      }
    }
    return count == 0 && at.roams ? take_fresh(own, out, want) : count;
  }

  /// Takes slots in the same way as `take_stored`, but leaves slots that are untouched; see
  /// take_touched. The last trip may take some of them together with others.
  [[nodiscard]] std::uint32_t take_used(std::span<slot_index> out) noexcept {
    if (shards_ == nullptr) {
      return take_stored({}, out, most_per_trip);
    }
    std::uint32_t count = 0;
    for (std::uint32_t i = 1; count == 0 && i < parts(); ++i) {
      count = take_from(shard_at(i), shard_at(i), out, most_per_trip);
    }
    // A slot that another thread has touched and stored is seen together with the higher mark.
    if (count == 0 && common_.full.is_top_below([this] { return untouched_magazine(); })) {
      count = take_magazines(common_, common_, out, most_per_trip / magazine_size);
    }
    if (count == 0 && common_.singles.is_top_below([this] { return untouched_single(); })) {
      count = pop_singles(common_, out.first(most_per_trip));
    }
    return count;
  }

  /// Stores all of `slots`. Requires: slots.size() <= most_per_trip.
  void give(depot_home at, std::span<const slot_index> slots) noexcept {
    LIDO_ASSERT(slots.size() <= most_per_trip, "more slots than one trip moves");
    shard& own = shard_at(at.shard);
    std::array<slot_index, most_per_trip / magazine_size> ids;
    const std::uint32_t count =
        take_empty(at.shard, std::span(ids).first(slots.size() / magazine_size));
    for (std::uint32_t m = 0; m < count; ++m) {
      for (std::uint32_t i = 0; i < magazine_size; ++i) {
        // relaxed: published by the push to `full`
        magazines_[ids[m]].cells[i].store(slots[m * magazine_size + i] - first_slot(ids[m], i),
                                          std::memory_order_relaxed);
      }
    }
    own.full.push_chain(std::span(ids).first(count));
    own.singles.push_chain(slots.subspan(std::size_t{count} * magazine_size));
  }

  /// Sets `slots` aside. Requires: the depot was constructed with `sets_aside`.
  void set_aside(std::span<const slot_index> slots) noexcept {
    LIDO_ASSERT(aside_ != nullptr, "a depot without a list for them sets slots aside");
    aside_->push_chain(slots);
  }
  /// Pops a slot that is set aside. Returns null_slot if there is none. Requires: as `set_aside`.
  [[nodiscard]] slot_index pop_aside() noexcept { return aside_->pop(); }
  /// Pops up to out.size() such slots. Returns the number of popped slots.
  [[nodiscard]] std::uint32_t pop_aside(std::span<slot_index> out) noexcept {
    return aside_->pop_chain(out);
  }

  /// Takes slots before a restart, most_per_trip at a time, until only untouched slots are left.
  /// Slots are untouched if they have never left a new or restarted depot. Returns 0 in the end.
  /// Requires: no other thread uses the depot, and the next other call is `restart`.
  [[nodiscard]] std::uint32_t take_touched(std::span<slot_index> out) noexcept {
    const std::uint32_t magazine = untouched_magazine();
    const std::uint32_t single = untouched_single();
    const std::uint32_t count = take({}, out, most_per_trip);
    // Untouched slots are below all others in their lists.
    if (untouched_magazine() != magazine) {
      common_.full.restart(affordable_magazines(capacity_), affordable_magazines(capacity_));
    }
    if (untouched_single() != single) {
      common_.singles.restart(capacity_, capacity_);
    }
    return count;
  }

  /// Calls `f` for ranges of slots that include all touched slots, each with its first slot and the
  /// slot after its last one. Requires: the depot does not grow; no other thread uses it.
  template <class F>
  void for_each_touched_range(F f) const {
    f(slot_index{0}, untouched_magazine() * magazine_size);
    f(affordable_magazines(capacity_) * magazine_size, untouched_single());
  }

  /// Stores every slot again, in the order of a new depot. A depot that grows is then empty, as a
  /// new one is. Writes only to records of slots that were touched. Requires: no other thread uses
  /// the depot.
  void restart() noexcept {
    const bool grows = kind_ == growth::by_steps;
    const std::uint32_t magazines = affordable_magazines(capacity_);
    if (!grows) {
      for_each_touched_range(
          [this](slot_index first, slot_index last) { common_.singles.clear_links(first, last); });
      clear_magazines(untouched_magazine());
    }
    common_.restart(capacity_, grows ? capacity_ : magazines * magazine_size, magazines,
                    grows ? magazines : 0);
    for (std::uint32_t i = 1; i < parts(); ++i) {
      shard_at(i).restart(capacity_, capacity_, magazines, magazines);
    }
    if (aside_ != nullptr) {
      aside_->restart(capacity_, capacity_);
    }
    for (std::uint32_t id = 0; grows && id < magazines_.size(); ++id) {
      common_.empty.push(id);
    }
    note_untouched();
  }

  [[nodiscard]] bool empty() const noexcept {
    bool bare = common_.is_bare() && (aside_ == nullptr || aside_->empty());
    for (std::uint32_t i = 1; i < parts() && bare; ++i) {
      bare = shard_at(i).is_bare();
    }
    return bare;
  }

  /// Returns a number that changes only when slots are pushed; see index_list.
  [[nodiscard]] std::uint64_t version() const noexcept {
    std::uint64_t sum = common_.version() + (aside_ == nullptr ? 0 : aside_->version());
    for (std::uint32_t i = 1; i < parts(); ++i) {
      sum += shard_at(i).version();
    }
    return sum;
  }

  [[nodiscard]] std::size_t memory() const noexcept {
    const std::size_t aside = aside_ == nullptr ? 0 : sizeof(treiber_list) + aside_->memory();
    return magazines_.size() * sizeof(magazine) + common_.memory() + (parts() - 1) * sizeof(shard) +
           aside;
  }
  /// Returns what `memory()` returns for a depot with `capacity` slots.
  [[nodiscard]] static std::size_t bytes_needed(std::uint32_t capacity, const shared_list* others,
                                                bool sets_aside) noexcept {
    const std::uint32_t magazines = affordable_magazines(capacity);
    const std::size_t links = others == nullptr ? 0 : treiber_list::bytes_needed(capacity);
    const std::size_t aside = sets_aside ? sizeof(treiber_list) + links : 0;
    if (others != nullptr) {
      return aside + magazines * sizeof(magazine) + others->bytes_needed(capacity) +
             // The factor is 2 because there is a list of full magazines and a list of empty
             // magazines.
             2 * others->bytes_needed(magazines);
    }
    const bool has_shards = capacity >= tuning::slots_for_shards;
    return aside + magazines * sizeof(magazine) + treiber_list::bytes_needed(capacity) +
           treiber_list::bytes_needed(magazines) + (has_shards ? sizeof(shard_array) : 0);
  }
  void add_to(slot_pool_stats& stats) const noexcept {
    common_.add_to(stats);
    for (std::uint32_t i = 1; i < parts(); ++i) {
      shard_at(i).add_to(stats);
    }
  }

 private:
  struct shard {
    /// Creates the common shard, which owns the links that all shards use. Lists of `others` have
    /// links of their own.
    shard(std::uint32_t capacity, std::uint32_t magazines, growth kind, const shared_list* others)
        : singles(others, capacity, kind == growth::none ? magazines * magazine_size : capacity,
                  kind),
          full(others, magazines, kind == growth::none ? 0 : magazines, kind),
          empty(others, full, magazines, kind) {}
    /// Creates the common shard of a depot whose tables are in memory of the program.
    shard(std::uint32_t capacity, std::uint32_t magazines, const tables& in) noexcept
        : singles(capacity, magazines * magazine_size, in.slot_links),
          full(magazines, 0, in.magazine_links),
          empty(nullptr, full, magazines, growth::none) {}
    /// Creates a shard that shares the links of `common`. Requires: the lists of `common` are
    /// Lido's own.
    explicit shard(shard* common)
        : singles(nullptr, common->singles, 0, growth::none),
          full(nullptr, common->full, 0, growth::none),
          empty(nullptr, common->full, 0, growth::none) {}

    /// Restarts the three lists, of which `empty` is then empty. Requires: as index_list::restart.
    void restart(std::uint32_t nodes, slot_index first_single, std::uint32_t magazines,
                 std::uint32_t first_full) noexcept {
      singles.restart(first_single, nodes);
      full.restart(first_full, magazines);
      empty.restart(magazines, magazines);
    }

    [[nodiscard]] bool is_bare() const noexcept { return singles.empty() && full.empty(); }
    [[nodiscard]] std::uint64_t version() const noexcept {
      return singles.version() + full.version();
    }
    [[nodiscard]] std::size_t memory() const noexcept {
      return singles.memory() + full.memory() + empty.memory();
    }
    void add_to(slot_pool_stats& stats) const noexcept {
      singles.add_to(stats);
      full.add_to(stats);
      empty.add_to(stats);
    }

    depot_list singles;
    depot_list full;
    depot_list empty;
  };

  depot(std::uint32_t capacity, std::uint32_t magazines, growth kind, const shared_list* others)
      : capacity_(capacity),
        kind_(kind),
        is_placed_(false),
        magazines_(magazines, kind),
        common_(capacity, magazines, kind, others) {}

  // Links cost 4 bytes per slot. A magazine costs 128 bytes, and each of its links in two lists
  // costs 4 bytes.
  static constexpr std::uint32_t affordable_magazines(std::uint32_t capacity) noexcept {
    constexpr std::uint64_t budget_per_slot = 4;
    constexpr std::uint64_t cost = sizeof(magazine) + 2 * sizeof(slot_index);
    return static_cast<std::uint32_t>(budget_per_slot * capacity / cost);
  }

  using shard_array = std::array<shard, tuning::shards>;
  template <std::size_t... Each>
  static shard_array* make_shards(void* memory, shard& common,
                                  std::index_sequence<Each...> /*each*/) noexcept {
    return ::new (memory) shard_array{(static_cast<void>(Each), shard(&common))...};
  }
  template <class Part>
  void end_part(Part* part) noexcept {
    if (part != nullptr) {
      std::destroy_at(part);
      if (!is_placed_) {
        ::operator delete (part, std::align_val_t{alignof(Part)});
      }
    }
  }

  /// Returns the slot that a zeroed cell represents. Magazines are in ascending order; within a
  /// magazine, low slots come last.
  static constexpr slot_index first_slot(std::uint32_t id, std::uint32_t cell) noexcept {
    return id * magazine_size + (magazine_size - 1 - cell);
  }

  /// Returns the number of parts, which are the common part and the shards.
  [[nodiscard]] std::uint32_t parts() const noexcept {
    return shards_ == nullptr ? 1 : 1 + tuning::shards;
  }
  [[nodiscard]] const shard& shard_at(std::uint32_t at) const noexcept {
    return at == 0 ? common_ : (*shards_)[at - 1];
  }
  [[nodiscard]] shard& shard_at(std::uint32_t at) noexcept {
    return at == 0 ? common_ : (*shards_)[at - 1];
  }

  /// Takes slots from `from`. Puts the magazines that become empty into `emptied`.
  [[nodiscard]] std::uint32_t take_from(shard& from, shard& emptied, std::span<slot_index> out,
                                        std::uint32_t want) noexcept {
    if (want < magazine_size) {
      if (const std::uint32_t count = pop_singles(from, out.first(want)); count > 0) {
        return count;
      }
    }
    if (const std::uint32_t count =
            take_magazines(from, emptied, out, (std::max)(want / magazine_size, 1U));
        count > 0) {
      return count;
    }
    return pop_singles(from, out.first(want));
  }

  /// Takes whole runs of common slots, so that no two threads get slots on the same cache line.
  [[nodiscard]] std::uint32_t take_fresh(shard& own, std::span<slot_index> out,
                                         std::uint32_t want) noexcept {
    if (want < magazine_size) {
      if (const std::uint32_t count = pop_singles(common_, out.first(magazine_size)); count > 0) {
        return count;
      }
    }
    return take_from(common_, own, out, (std::max)(want - want % magazine_size, magazine_size));
  }

  [[nodiscard]] std::uint32_t take_magazines(shard& from, shard& emptied, std::span<slot_index> out,
                                             std::uint32_t most) noexcept {
    std::array<slot_index, most_per_trip / magazine_size> ids;
    const std::uint32_t count =
        from.full.pop_chain(std::span(ids).first(std::min<std::size_t>(most, ids.size())));
    if (&from == &common_) {
      note_touched(untouched_magazine_, std::span<const slot_index>(ids).first(count));
    }
    for (std::uint32_t m = 0; m < count; ++m) {
      for (std::uint32_t i = 0; i < magazine_size; ++i) {
        // relaxed: ordered by the pop from `full`
        out[m * magazine_size + i] =
            magazines_[ids[m]].cells[i].load(std::memory_order_relaxed) + first_slot(ids[m], i);
      }
    }
    emptied.empty.push_chain(std::span(ids).first(count));
    return count * magazine_size;
  }

  /// Makes the magazines below `end` contain the slots that they contain in a new depot, and clears
  /// their links.
  // relaxed (whole function): no other thread uses the depot
  void clear_magazines(std::uint32_t end) noexcept {
    for (std::uint32_t id = 0; id < end; ++id) {
      for (atomic<slot_index>& cell : magazines_[id].cells) {
        cell.store(0, std::memory_order_relaxed);
      }
    }
    common_.full.clear_links(0, end);
  }

  /// Returns the first magazine whose slots are all untouched.
  [[nodiscard]] std::uint32_t untouched_magazine() const noexcept {
    // relaxed: no other thread uses the depot, or the caller has seen the push that matters
    return untouched_magazine_.load(std::memory_order_relaxed);
  }
  /// Returns the first untouched slot that belongs to no magazine.
  [[nodiscard]] std::uint32_t untouched_single() const noexcept {
    // relaxed: as above
    return untouched_single_.load(std::memory_order_relaxed);
  }
  /// Resets the marks. In a depot without shards, which is small or another library's, and in one
  /// that grows, all slots count as touched.
  // relaxed (whole function): as above
  void note_untouched() noexcept {
    const bool marks = shards_ != nullptr && kind_ == growth::none;
    const std::uint32_t magazines = affordable_magazines(capacity_);
    untouched_magazine_.store(marks ? 0 : magazines, std::memory_order_relaxed);
    untouched_single_.store(marks ? magazines * magazine_size : capacity_,
                            std::memory_order_relaxed);
  }
  /// Raises `mark` after `popped` were popped from a list of the common part. The last of them is
  /// the highest untouched one, if there is any among them.
  // relaxed (whole function): threads that see a later push of these slots see the mark
  static void note_touched(unscheduled_atomic<std::uint32_t>& mark,
                           std::span<const slot_index> popped) noexcept {
    std::uint32_t seen = mark.load(std::memory_order_relaxed);
    while (!popped.empty() && popped.back() >= seen &&
           !mark.compare_exchange_weak(seen, popped.back() + 1, std::memory_order_relaxed,
                                       std::memory_order_relaxed)) {
    }
  }

  /// Pops from the singles of `from`.
  [[nodiscard]] std::uint32_t pop_singles(shard& from, std::span<slot_index> out) noexcept {
    const std::uint32_t count = from.singles.pop_chain(out);
    if (&from == &common_) {
      note_touched(untouched_single_, std::span<const slot_index>(out).first(count));
    }
    return count;
  }

  /// Takes empty magazines, first those of the shard `own`. Returns how many it took.
  [[nodiscard]] std::uint32_t take_empty(std::uint32_t own, std::span<slot_index> ids) noexcept {
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < parts() && count < ids.size(); ++i) {
      count += shard_at((own + i) % parts()).empty.pop_chain(ids.subspan(count));
    }
    return count;
  }

  std::uint32_t capacity_;  ///< maximum number of slots
  growth kind_;
  bool is_placed_;  ///< the parts are in memory of the program
  // All slots of the magazines from `untouched_magazine_` on, and all slots from
  // `untouched_single_` on that belong to no magazine, are untouched; see take_touched.
  unscheduled_atomic<std::uint32_t> untouched_magazine_{0};
  unscheduled_atomic<std::uint32_t> untouched_single_{0};
  zeroed_array<magazine> magazines_;
  shard_array* shards_ = nullptr;  ///< owned; null if there is only the common part
  treiber_list* aside_ = nullptr;  ///< owned; slots set aside; null if none ever are
  shard common_;
};

}  // namespace lido::inline v0::detail
