/// @file
/// Internal. The shared store of free slots: whole magazines for bulk, single slots for the rest.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "lido/base/pool_stats.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/base/tuning.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/zeroed_array.hpp"
#include "lido/freelist/index_list.hpp"
#include "lido/freelist/treiber_list.hpp"

namespace lido::detail {

/// Slots in a magazine.
inline constexpr std::uint32_t magazine_size = tuning::magazine_size;

/// Most slots that one trip to the depot moves: one change of a head for that many magazines.
inline constexpr std::uint32_t most_per_trip = tuning::magazines_per_trip * magazine_size;

/// A contiguous array of slot indices (Bonwick and Adams, USENIX 2001). Contiguous, because handing
/// a chain of slots to another core costs a cache miss for each link, and an array costs two.
///
/// A cell stores the distance from its first slot, so that zero memory is full magazines.
struct alignas(magazine_size * sizeof(slot_index)) magazine {
  std::array<atomic<slot_index>, magazine_size> cells;
};

/// One list of the depot: Lido's own, called directly, or one of another library.
class depot_list {
 public:
  /// See shared_list::make. `others` is null for Lido's own.
  depot_list(const shared_list* others, std::uint32_t nodes, slot_index first, room kind)
      : own_(others == nullptr ? nodes : 0, others == nullptr ? first : 0, kind),
        other_(others == nullptr ? nullptr : others->make(nodes, first, kind)) {}

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
  void add_to(pool_stats& stats) const noexcept {
    if (other_ == nullptr) {
      const std::uint64_t headroom = std::uint64_t{1} << own_.tag_bits();
      stats.cas_retries += own_.retries();
      stats.tag_headroom = std::min(stats.tag_headroom - 1, headroom - 1) + 1;  // 0: none yet
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

  // In one line with the head of `own_`, which is used at once after a look here.
  [[no_unique_address]] treiber_list own_;
  std::unique_ptr<index_list> other_;
};

static_assert(sizeof(depot_list) == sizeof(treiber_list));

/// All free slots that no cache holds.
///
/// Invariants
///  I1 A magazine is in `full_` (32 slots in it), in `empty_`, or in the hands of one thread.
///  I2 A slot is in `singles_`, in one full magazine, in a cache, or in the hands of one thread.
///  I3 There are so few magazines that they and the links cost at most 8 bytes a slot; when none is
///     left, slots go to `singles_`, which has room for all.
///  I4 Zero memory is the first state, in which every slot is free: construction writes nothing.
/// Memory ordering: what a magazine holds is written and read relaxed; the lists' push -> pop edges
///   carry it from one thread to the next.
/// Progress: lock-free. Never allocates after construction.
class depot {
 public:
  /// Starts with every slot free, low indices on top; without any if it grows. `others` is null for
  /// Lido's own lists. Throws std::bad_alloc.
  depot(std::uint32_t capacity, room kind, const shared_list* others = nullptr)
      : depot(capacity, affordable_magazines(capacity), kind, others) {}

  /// Makes room for the slots below `slots`, beside any other operation; one thread at a time.
  /// Returns 0, or the error number of the system: then there may be more room, but not less.
  [[nodiscard]] int extend_to(std::uint32_t slots) noexcept {
    const std::uint32_t count = affordable_magazines(slots);
    const auto before = static_cast<std::uint32_t>(magazines_.size());
    int error = singles_.extend_to(slots);
    error = error != 0 ? error : full_.extend_to(count);
    error = error != 0 ? error : empty_.extend_to(count);
    error = error != 0 ? error : magazines_.extend_to(count);
    for (std::uint32_t id = before; error == 0 && id < count; ++id) {
      empty_.push(id);
    }
    return error;
  }

  /// Stores the slots from `first` to before `last`, low ones on top. Requires: there is room.
  void add(slot_index first, slot_index last) noexcept {
    std::array<slot_index, magazine_size> chunk;
    while (last > first) {
      const std::uint32_t size = std::min(magazine_size, last - first);
      // A cache hands out what comes last first: descending order.
      std::generate_n(chunk.begin(), size, [&last] { return --last; });
      give(std::span(chunk).first(size));
    }
  }

  [[nodiscard]] slot_index pop_single() noexcept { return singles_.pop(); }
  void push_single(slot_index slot) noexcept { singles_.push(slot); }

  /// Takes up to `want` slots, or a whole magazine where only that is to be had; returns how many.
  /// Requires: out.size() >= max(want, magazine_size).
  [[nodiscard]] std::uint32_t take(std::span<slot_index> out, std::uint32_t want) noexcept {
    if (want < magazine_size) {
      if (const std::uint32_t count = singles_.pop_chain(out.first(want)); count > 0) {
        return count;
      }
    }
    if (const std::uint32_t count = take_magazines(out, std::max(want / magazine_size, 1U));
        count > 0) {
      return count;
    }
    return singles_.pop_chain(out.first(want));
  }

  /// Stores all of `slots`. Requires: slots.size() <= most_per_trip.
  void give(std::span<const slot_index> slots) noexcept {
    std::array<slot_index, most_per_trip / magazine_size> ids;
    const std::uint32_t count =
        empty_.pop_chain(std::span(ids).first(slots.size() / magazine_size));
    for (std::uint32_t m = 0; m < count; ++m) {
      for (std::uint32_t i = 0; i < magazine_size; ++i) {
        // relaxed: published by the push to full_
        magazines_[ids[m]].cells[i].store(slots[m * magazine_size + i] - first_slot(ids[m], i),
                                          std::memory_order_relaxed);
      }
    }
    full_.push_chain(std::span(ids).first(count));
    singles_.push_chain(slots.subspan(std::size_t{count} * magazine_size));
  }

  [[nodiscard]] bool empty() const noexcept { return singles_.empty() && full_.empty(); }

  /// Moves with every push of slots and with nothing else; see index_list.
  [[nodiscard]] std::uint64_t version() const noexcept {
    return singles_.version() + full_.version();
  }

  [[nodiscard]] std::size_t memory() const noexcept {
    return magazines_.size() * sizeof(magazine) + singles_.memory() + full_.memory() +
           empty_.memory();
  }
  void add_to(pool_stats& stats) const noexcept {
    singles_.add_to(stats);
    full_.add_to(stats);
    empty_.add_to(stats);
  }

 private:
  depot(std::uint32_t capacity, std::uint32_t magazines, room kind, const shared_list* others)
      : magazines_(magazines, kind),
        singles_(others, capacity, kind == room::fixed ? magazines * magazine_size : capacity,
                 kind),
        full_(others, magazines, kind == room::fixed ? 0 : magazines, kind),
        empty_(others, magazines, magazines, kind) {}

  // Links cost 4 bytes a slot. A magazine costs 128 bytes and its links in each of two lists 4.
  static constexpr std::uint32_t affordable_magazines(std::uint32_t capacity) noexcept {
    constexpr std::uint64_t budget_per_slot = 4;
    constexpr std::uint64_t cost = sizeof(magazine) + 2 * sizeof(slot_index);
    return static_cast<std::uint32_t>(budget_per_slot * capacity / cost);
  }

  /// The slot that zero memory puts in a cell: magazines follow one another, low slots come last.
  static constexpr slot_index first_slot(std::uint32_t id, std::uint32_t cell) noexcept {
    return id * magazine_size + (magazine_size - 1 - cell);
  }

  [[nodiscard]] std::uint32_t take_magazines(std::span<slot_index> out,
                                             std::uint32_t most) noexcept {
    std::array<slot_index, most_per_trip / magazine_size> ids;
    const std::uint32_t count =
        full_.pop_chain(std::span(ids).first(std::min<std::size_t>(most, ids.size())));
    for (std::uint32_t m = 0; m < count; ++m) {
      for (std::uint32_t i = 0; i < magazine_size; ++i) {
        // relaxed: ordered by the pop from full_
        out[m * magazine_size + i] =
            magazines_[ids[m]].cells[i].load(std::memory_order_relaxed) + first_slot(ids[m], i);
      }
    }
    empty_.push_chain(std::span(ids).first(count));
    return count * magazine_size;
  }

  zeroed_array<magazine> magazines_;
  depot_list singles_;
  depot_list full_;
  depot_list empty_;
};

}  // namespace lido::detail
