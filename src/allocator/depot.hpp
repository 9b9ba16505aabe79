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
/// Invariants
///  I1 Each magazine is in exactly one place: in a `full` list (it then contains 32 slots), in an
///     `empty` list, or in the hands of a thread.
///  I2 Each slot is in exactly one place: in a list of singles, in a full magazine, in a cache, or
///     in the hands of a thread.
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
  /// shards. Throws std::bad_alloc.
  depot(std::uint32_t capacity, growth kind, const shared_list* others = nullptr)
      : depot(capacity, affordable_magazines(capacity), kind, others) {
    if (others == nullptr && capacity >= tuning::slots_for_shards) {
      shards_.reset(
          make_shards(::operator new (sizeof(shard_array), std::align_val_t{alignof(shard_array)}),
                      common_, std::make_index_sequence<tuning::shards>()));
    }
  }

  /// Memory for the tables of a depot of Lido's own lists.
  struct tables {
    void* magazines;
    void* slot_links;
    void* magazine_links;
    void* shards;  ///< null if the depot has no shards
  };
  /// Takes zeroed memory for the tables of a depot from `memory`.
  [[nodiscard]] static tables take_tables(memory_cursor& memory, std::uint32_t capacity) noexcept {
    const std::uint32_t magazines = affordable_magazines(capacity);
    // The order of initialisers is the order of the tables.
    return {memory.take_zeros(magazines * sizeof(magazine), alignof(magazine)),
            memory.take_zeros(treiber_list::bytes_needed(capacity), alignof(atomic<slot_index>)),
            memory.take_zeros(treiber_list::bytes_needed(magazines), alignof(atomic<slot_index>)),
            capacity < tuning::slots_for_shards
                ? nullptr
                : memory.take(sizeof(shard_array), alignof(shard_array))};
  }

  /// Creates a depot in which every slot is free, with low indices on top. Requires: `take_tables`
  /// returned `in` for this capacity, and its memory outlives the depot.
  depot(std::uint32_t capacity, const tables& in) noexcept
      : magazines_(affordable_magazines(capacity), zeroed_array<magazine>::placed{in.magazines}),
        common_(capacity, affordable_magazines(capacity), in) {
    if (in.shards != nullptr) {
      shards_ = {make_shards(in.shards, common_, std::make_index_sequence<tuning::shards>()),
                 end_shards(/*is_placed=*/true)};
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
    return slot;
  }
  void push_single(depot_home at, slot_index slot) noexcept {
    shard_at(at.shard).singles.push(slot);
  }

  /// Takes up to `want` slots, or a whole run if nothing smaller is available. Returns the number
  /// of slots taken. Requires: out.size() >= max(want, magazine_size).
  [[nodiscard]] std::uint32_t take(depot_home at, std::span<slot_index> out,
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

  [[nodiscard]] bool empty() const noexcept {
    bool bare = common_.is_bare();
    for (std::uint32_t i = 1; i < parts() && bare; ++i) {
      bare = shard_at(i).is_bare();
    }
    return bare;
  }

  /// Returns a number that changes only when slots are pushed; see index_list.
  [[nodiscard]] std::uint64_t version() const noexcept {
    std::uint64_t sum = common_.version();
    for (std::uint32_t i = 1; i < parts(); ++i) {
      sum += shard_at(i).version();
    }
    return sum;
  }

  [[nodiscard]] std::size_t memory() const noexcept {
    return magazines_.size() * sizeof(magazine) + common_.memory() + (parts() - 1) * sizeof(shard);
  }
  /// Returns what `memory()` returns for a depot with `capacity` slots.
  [[nodiscard]] static std::size_t bytes_needed(std::uint32_t capacity,
                                                const shared_list* others) noexcept {
    const std::uint32_t magazines = affordable_magazines(capacity);
    if (others != nullptr) {
      return magazines * sizeof(magazine) + others->bytes_needed(capacity) +
             // The factor is 2 because there is a list of full magazines and a list of empty
             // magazines.
             2 * others->bytes_needed(magazines);
    }
    const bool has_shards = capacity >= tuning::slots_for_shards;
    return magazines * sizeof(magazine) + treiber_list::bytes_needed(capacity) +
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
      : magazines_(magazines, kind), common_(capacity, magazines, kind, others) {}

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
  class end_shards {
   public:
    end_shards() noexcept : is_placed_(false) {}
    explicit end_shards(bool is_placed) noexcept : is_placed_(is_placed) {}
    void operator()(shard_array* shards) const noexcept {
      std::destroy_at(shards);
      if (!is_placed_) {
        ::operator delete (shards, std::align_val_t{alignof(shard_array)});
      }
    }

   private:
    bool is_placed_;  ///< the memory belongs to the program
  };

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
      if (const std::uint32_t count = from.singles.pop_chain(out.first(want)); count > 0) {
        return count;
      }
    }
    if (const std::uint32_t count =
            take_magazines(from, emptied, out, (std::max)(want / magazine_size, 1U));
        count > 0) {
      return count;
    }
    return from.singles.pop_chain(out.first(want));
  }

  /// Takes whole runs of common slots, so that no two threads get slots on the same cache line.
  [[nodiscard]] std::uint32_t take_fresh(shard& own, std::span<slot_index> out,
                                         std::uint32_t want) noexcept {
    if (want < magazine_size) {
      if (const std::uint32_t count = common_.singles.pop_chain(out.first(magazine_size));
          count > 0) {
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

  /// Takes empty magazines, first those of the shard `own`. Returns how many it took.
  [[nodiscard]] std::uint32_t take_empty(std::uint32_t own, std::span<slot_index> ids) noexcept {
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < parts() && count < ids.size(); ++i) {
      count += shard_at((own + i) % parts()).empty.pop_chain(ids.subspan(count));
    }
    return count;
  }

  zeroed_array<magazine> magazines_;
  std::unique_ptr<shard_array, end_shards> shards_;  ///< null if there is only the common part
  shard common_;
};

}  // namespace lido::inline v0::detail
