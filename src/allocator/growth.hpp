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

/// The state of a segment. One that is leaving still has its memory, but no slot in the allocator;
/// the thread that changes the capacity may put it into service again. One that is apart belongs to
/// the thread that makes or destroys its objects.
enum class segment_state : std::uint8_t { retired, in_service, leaving, apart };

/// Adds slots to an allocator that has none left, and removes slots on request.
///
/// Invariants
///  I1 The thread that changes the capacity has locked `resize_`, a word with one bit for that and
///     a number that moves with each change. A change is announced before it begins.
///  I2 A slot of a segment that is not in service is nowhere in the allocator. A segment leaves
///     only while the thread that locked `resize_` has collected all of its slots.
///  I3 steal_or_grow fails only in these cases. At some moment during the call every slot was in
///     callers' hands and the capacity was the most allowed. The memory of a new segment was
///     refused. For a tenth of a second, the thread that had locked `resize_`, or whose segment was
///     the only one left to add, did nothing. Or the allocator fails for its own reasons.
///  I4 `resize_` is not locked while objects of a segment are made or destroyed: the user does
///     that, and may take long, use the pool, or fork. Free slots of other segments are in the
///     allocator then.
/// Memory ordering: `resize_` (2) -> (1, 3) hands the segments from one holder to the next. Its
///   number, and the order of the capacity behind it, prove that nothing changed during a search.
/// Progress: an acquire that needs a segment adds one, or waits for the thread that does, as I3
///   says. `reserve` and `shrink_to` block one another.
class segment_table {
 public:
  /// Throws std::bad_alloc. Requires: 1 <= capacity, the most slots there may be, of `stride` bytes
  /// each; `slots`, which has none yet, and `memory` outlive this.
  segment_table(allocator_state& slots, segment_memory& memory, std::size_t stride,
                std::uint32_t capacity);

  /// Continues an acquire that found nothing: searches again, and adds a segment if there is no
  /// free slot. Returns null only as I3 says.
  [[nodiscard]] void* steal_or_grow() noexcept;

  // These work as in slot_allocator. A segment whose `fill` throws stays, too. A shrink has no
  // effect without memory for a bit for each slot.
  [[nodiscard]] int reserve(std::uint32_t slots, segment_fill* fill);
  std::uint32_t shrink_to(std::uint32_t slots) noexcept;
  [[nodiscard]] int growth_error() const noexcept {
    // relaxed: for the text of an error
    return growth_error_.load(std::memory_order_relaxed);
  }

  /// Returns true if there are as many slots as there may be.
  [[nodiscard]] bool is_whole() const noexcept;

  void add_to(slot_pool_stats& stats) const noexcept;

  /// Returns the bytes of a table for the segments of `plan`.
  [[nodiscard]] static std::size_t bytes_needed(const segment_plan& plan) noexcept {
    return sizeof(segment_table) + plan.segments() * sizeof(segment_state);
  }

 private:
  using word = std::uint64_t;
  static constexpr word locked = 1;
  [[nodiscard]] static bool is_locked(word seen) noexcept { return (seen & locked) != 0; }

  class apart;
  class patience;
  class found_slots;

  [[nodiscard]] bool try_lock(word seen) noexcept;
  void lock() noexcept;
  void unlock() noexcept;
  enum class outcome : std::uint8_t { over, look_again, others_change };
  [[nodiscard]] outcome try_grow(word seen, void*& slot, patience& others) noexcept;

  // Called by the thread that has locked `resize_` alone.
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
  std::unique_ptr<segment_state[]> states_;  ///< one per segment
  std::uint32_t first_spare_ = 0;            ///< none below it is retired or leaving
  atomic<int> growth_error_{0};
  atomic<word> resize_{0};
  work_progress progress_;  ///< moved by the thread with the lock, and by makers of objects
  atomic<std::uint64_t> growths_{0};
  atomic<std::uint64_t> shrinks_{0};
};

}  // namespace lido::inline v0::detail
