/// @file
/// Internal. The shared store of free slots: whole magazines for bulk, single slots for the rest.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "lido/base/heap_array.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/base/tuning.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/concurrency/mapped_array.hpp"
#include "lido/freelist/index_stack.hpp"

namespace lido::detail {

/// Slots in a magazine.
inline constexpr std::uint32_t magazine_size = tuning::magazine_size;

/// Most slots that one trip to the depot moves: one change of a head for that many magazines.
inline constexpr std::uint32_t most_per_trip = tuning::magazines_per_trip * magazine_size;

/// A contiguous array of slot indices (Bonwick and Adams, USENIX 2001). Contiguous, because handing
/// a chain of slots to another core costs a cache miss for each link, and an array costs two.
struct alignas(magazine_size * sizeof(slot_index)) magazine {
  std::array<atomic<slot_index>, magazine_size> slots;
};

/// All free slots that no cache holds.
///
/// Invariants
///  I1 A magazine is in `full_` (32 slots in it), in `empty_`, or in the hands of one thread.
///  I2 A slot is in `singles_`, in one full magazine, in a cache, or in the hands of one thread.
///  I3 There are so few magazines that they and the links cost at most 8 bytes a slot; when none is
///     left, slots go to `singles_`, which has room for all.
/// Memory ordering: what a magazine holds is written and read relaxed; the stacks' push -> pop
/// edges
///   carry it from one thread to the next.
/// Progress: lock-free. Never allocates after construction.
template <index_stack Stack>
class depot {
 public:
  /// Whether slots come later, by `extend_to` and `add`.
  static constexpr bool grows = growing_index_stack<Stack>;

  /// Starts with every slot free, low indices on top; without any if it grows. Throws
  /// std::bad_alloc.
  explicit depot(std::uint32_t capacity)
      : magazine_count_(affordable_magazines(capacity)),
        magazines_(magazine_count_),
        singles_(capacity),
        full_(magazine_count_),
        empty_(magazine_count_) {
    if constexpr (!grows) {
      add_magazines(0, magazine_count_);
      const std::uint32_t in_magazines = magazine_count_ * magazine_size;
      add_singles(in_magazines, capacity);
      add(0, in_magazines);
    }
  }

  /// Makes room for the slots below `slots`, beside any other operation; one thread at a time.
  /// Returns 0, or the error number of the system: then there may be more room, but not less.
  [[nodiscard]] int extend_to(std::uint32_t slots) noexcept requires(grows) {
    const std::uint32_t count = affordable_magazines(slots);
    int error = singles_.extend_to(slots);
    error = error != 0 ? error : full_.extend_to(count);
    error = error != 0 ? error : empty_.extend_to(count);
    const auto before = static_cast<std::uint32_t>(magazines_.size());
    error = error != 0 ? error : magazines_.extend_to(count);
    if (error == 0) {
      add_magazines(before, std::max(before, count));
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
        magazines_[ids[m]].slots[i].store(slots[m * magazine_size + i], std::memory_order_relaxed);
      }
    }
    full_.push_chain(std::span(ids).first(count));
    singles_.push_chain(slots.subspan(std::size_t{count} * magazine_size));
  }

  [[nodiscard]] bool empty() const noexcept { return singles_.empty() && full_.empty(); }

  /// Grows with every push of slots and with nothing else; see index_stack.
  [[nodiscard]] std::uint64_t version() const noexcept {
    return singles_.version() + full_.version();
  }

  [[nodiscard]] std::size_t memory() const noexcept {
    return magazines_.memory() + singles_.memory() + full_.memory() + empty_.memory();
  }

 private:
  // Links cost 4 bytes a slot. A magazine costs 128 bytes and its links in each of two stacks 4.
  static constexpr std::uint32_t affordable_magazines(std::uint32_t capacity) noexcept {
    constexpr std::uint64_t budget_per_slot = 4;
    constexpr std::uint64_t cost = sizeof(magazine) + 2 * sizeof(slot_index);
    return static_cast<std::uint32_t>(budget_per_slot * capacity / cost);
  }

  void add_magazines(std::uint32_t first, std::uint32_t last) noexcept {
    for (std::uint32_t id = first; id < last; ++id) {
      empty_.push(id);
    }
  }

  void add_singles(slot_index first, slot_index last) noexcept {
    for (; last > first; --last) {
      singles_.push(last - 1);
    }
  }

  [[nodiscard]] std::uint32_t take_magazines(std::span<slot_index> out,
                                             std::uint32_t most) noexcept {
    std::array<slot_index, most_per_trip / magazine_size> ids;
    const std::uint32_t count =
        full_.pop_chain(std::span(ids).first(std::min<std::size_t>(most, ids.size())));
    for (std::uint32_t m = 0; m < count; ++m) {
      for (std::uint32_t i = 0; i < magazine_size; ++i) {
        // relaxed: ordered by the pop from full_
        out[m * magazine_size + i] = magazines_[ids[m]].slots[i].load(std::memory_order_relaxed);
      }
    }
    empty_.push_chain(std::span(ids).first(count));
    return count * magazine_size;
  }

  std::uint32_t magazine_count_;
  std::conditional_t<grows, mapped_array<magazine>, heap_array<magazine>> magazines_;
  Stack singles_;
  Stack full_;
  Stack empty_;
};

}  // namespace lido::detail
