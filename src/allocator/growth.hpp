/// @file
/// Internal. How a pool grows and shrinks, in segments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "../base/segment_plan.hpp"
#include "lido/allocator/segment_memory.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0::detail {

class allocator_state;

/// The state of a segment. A segment that is leaving still has its memory, but no slot in the
/// allocator; the thread that changes the capacity may put it into service again. A segment that is
/// claimed belongs to the thread that creates or destroys its objects.
enum class segment_state : std::uint8_t { retired, in_service, leaving, claimed };

/// Adds slots to an allocator that has no free slot left, and removes slots on request.
///
/// Invariants
///  I1 A thread that changes the capacity has locked `resize_`. This word consists of a lock bit
///     and a number that increases with each change. The lock bit announces a change before it
///     begins.
///  I2 A slot of a segment that is not in service is nowhere in the allocator. A segment leaves
///     service only while the thread that has locked `resize_` holds all of the segment's slots.
///  I3 steal_or_grow fails only in four cases. First, at some moment during the call, callers held
///     every slot and the capacity was at its maximum. Second, the system refused memory for a new
///     segment. Third, one thread made no progress for a tenth of a second: the thread that had
///     locked `resize_`, or the thread that had the last segment left to add. Fourth, the allocator
///     failed for its own reasons.
///  I4 `resize_` is not locked while objects of a segment are created or destroyed. User code does
///     that, and may take a long time, use the pool, or fork. Meanwhile, free slots of other
///     segments are in the allocator.
/// Memory ordering: `resize_` (2) -> (1, 3) hands the segments from one holder to the next. The
///   number in `resize_`, and the capacity, which is ordered after that number, prove that nothing
///   changed during a search.
/// Progress: an acquire that needs a segment adds one, or waits for the thread that adds one,
///   within the limits of I3. `reserve` and `shrink_to` block one another.
class segment_table {
 public:
  /// Creates a table for at most `capacity` slots of `stride` bytes each. Throws std::bad_alloc.
  /// Requires: 1 <= capacity; `slots` contains no slots yet; `slots` and `memory` outlive the
  /// table.
  segment_table(allocator_state& slots, segment_memory& memory, std::size_t stride,
                std::uint32_t capacity);

  /// Continues an acquire that found nothing: searches again, and adds a segment if there is no
  /// free slot. Returns null only in the cases of I3.
  [[nodiscard]] void* steal_or_grow() noexcept;

  // These work as in slot_allocator. If `fill` throws, the segment that it was filling enters
  // service all the same. `shrink_to` has no effect if there is no memory for one bit per slot.
  [[nodiscard]] int reserve(std::uint32_t slots, segment_fill* fill);
  std::uint32_t shrink_to(std::uint32_t slots) noexcept;
  [[nodiscard]] int growth_error() const noexcept {
    // relaxed: for the text of an error
    return growth_error_.load(std::memory_order_relaxed);
  }

  /// Returns the slot after the last slot in service, or 0 if there is none. Requires: as
  /// `for_each_in_service`.
  [[nodiscard]] slot_index end_of_service() const noexcept {
    slot_index end = 0;
    for_each_in_service(
        [&end](slot_index /*first*/, slot_index last) { end = end < last ? last : end; });
    return end;
  }

  /// Calls `f` with the first slot of each segment in service, and with the slot after its last
  /// one, highest segment first. Requires: no other thread uses the pool.
  template <class F>
  void for_each_in_service(F f) const {
    for (std::uint32_t segment = plan_.segments(); segment-- > 0;) {
      if (states_[segment] == segment_state::in_service) {
        const slot_index first = plan_.first_of(segment);
        f(first, first + plan_.slots_of(segment));
      }
    }
  }

  /// Returns true if the capacity is at its maximum.
  [[nodiscard]] bool is_whole() const noexcept;

  void add_to(slot_pool_stats& stats) const noexcept;

  /// Returns the size in bytes of a table for the segments of `plan`.
  [[nodiscard]] static std::size_t bytes_needed(const segment_plan& plan) noexcept {
    return sizeof(segment_table) + plan.segments() * sizeof(segment_state);
  }

 private:
  using word = std::uint64_t;
  static constexpr word locked = 1;
  [[nodiscard]] static bool is_locked(word seen) noexcept { return (seen & locked) != 0; }

  class claim;
  class patience;
  class found_slots;

  [[nodiscard]] bool try_lock(word seen) noexcept;
  void lock() noexcept;
  void unlock() noexcept;
  enum class outcome : std::uint8_t { over, look_again, others_change };
  [[nodiscard]] outcome try_grow(word seen, void*& slot, patience& others) noexcept;

  // Called only by the thread that has locked `resize_`.
  [[nodiscard]] void* grow() noexcept;
  [[nodiscard]] std::uint32_t lowest_spare() noexcept;
  [[nodiscard]] int add_segment(std::uint32_t segment, void** first_slot, segment_fill* fill);
  void put_in_service(std::uint32_t segment, void** first_slot) noexcept;
  void take_out_free_segments(const found_slots& found, std::uint32_t segments,
                              std::uint32_t slots) noexcept;
  void put_back(const found_slots& found) noexcept;
  void serve_waiters() noexcept;
  void end_segment(std::uint32_t segment) noexcept;
  void make_spare(std::uint32_t segment, segment_state state) noexcept;

  allocator_state& slots_;
  segment_memory& memory_;
  segment_plan plan_;
  std::size_t stride_;
  std::unique_ptr<segment_state[]> states_;  ///< one state per segment
  std::uint32_t first_spare_ = 0;            ///< no segment below it is retired or leaving
  atomic<int> growth_error_{0};
  atomic<word> resize_{0};
  work_progress progress_;  ///< noted under the lock, and when objects are created or destroyed
  atomic<std::uint64_t> growths_{0};
  atomic<std::uint64_t> shrinks_{0};
};

}  // namespace lido::inline v0::detail
