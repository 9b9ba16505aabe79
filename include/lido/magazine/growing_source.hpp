/// @file
/// Internal. A slot_source whose slots come and go in segments.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "lido/base/address_space.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/base/segment_plan.hpp"
#include "lido/base/slot_geometry.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/magazine/slot_census.hpp"
#include "lido/magazine/slot_source.hpp"

namespace lido::detail {

/// What lies behind the slots of a growing_source. The functions get whole segments. `commit` and
/// `decommit` return 0, or an error number of the system and then have changed nothing. `vacate`
/// comes before `decommit`, ends what free slots still hold, and calls back after each. One thread
/// at a time is in `commit`; beside it, and beside one another, others end segments of their own.
template <class M>
concept segment_memory = requires(M& memory, slot_index first, std::uint32_t count) {
  { memory.commit(first, count) }
  noexcept->std::same_as<int>;
  {
    memory.vacate(first, count, [] {})
  }
  noexcept;
  { memory.decommit(first, count) }
  noexcept->std::same_as<int>;
};

/// Of a segment. leaving: its slots are out of the source, its memory is still there, and whoever
/// changes the capacity may take it into service again. apart: belongs to the thread that ends or
/// makes what is in it. moving: whoever changes the capacity is just putting it into service, or
/// taking it out; only the child of a fork ever meets one.
enum class segment_state : std::uint8_t { retired, in_service, leaving, apart, moving };

/// Addresses of free slots for any number of threads, as slot_source, which it adds slots to when
/// there are none left, and takes slots from when it is told to.
///
/// Invariants
///  I1 Who changes the capacity holds `resize_`, a word with one bit for that and a number that
///     moves with each change. A change is announced before it begins.
///  I2 A slot of a segment that is not in service is nowhere in the source. A segment leaves only
///     while all of its slots are in the census, that is, in the hands of the thread that holds
///     `resize_`.
///  I3 acquire fails only if at some moment during the call every slot was in callers' hands and
///     the capacity was the most that is allowed, if the memory of a new segment was refused, if
///     whoever held `resize_`, or had the one segment apart that was left to add, did nothing for a
///     tenth of a second, or for the reasons of slot_source.
///  I4 Nobody holds `resize_` while what a slot holds is made or ended: that is the user's to do,
///     and may take its time or use the pool. Free slots of other segments are in the source then.
/// Memory ordering: `resize_` (2) -> (1, 3) hands the segments from one holder to the next. That
///   nothing changed during a look is told by its number, and by the order of the capacity behind
///   it.
/// Progress: as slot_source while there are free slots, whatever the holder of `resize_` does. An
///   acquire that needs a segment adds one or waits for the one who does, as I3 says. `reserve` and
///   `shrink_to` are blocking among one another.
template <growing_index_stack Stack, segment_memory Memory>
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): final, and its base is private
class growing_source final : private thread_exit_listener {
 public:
  /// Starts without slots. Throws std::bad_alloc. Requires: 1 <= capacity <= max_capacity; `slots`
  /// spans as many, `stride` bytes each; `memory` outlives this.
  growing_source(slot_geometry slots, std::size_t stride, std::uint32_t capacity,
                 cache_choice caches, std::uint32_t max_cached, Memory& memory);
  growing_source(const growing_source&) = delete;
  growing_source& operator=(const growing_source&) = delete;
  ~growing_source() { unregister_listener(); }

  // ---- as slot_source ---------------------------------------------------------------------------

  [[nodiscard, gnu::always_inline]] void* acquire() noexcept { return or_more(source_.acquire()); }
  [[nodiscard]] void* acquire_locked() noexcept { return or_more(source_.acquire_locked()); }
  [[nodiscard]] void* acquire_shared() noexcept { return or_more(source_.acquire_shared()); }
  [[gnu::always_inline]] void release(void* slot) noexcept { source_.release(slot); }
  void release_locked(void* slot) noexcept { source_.release_locked(slot); }
  void release_shared(void* slot) noexcept { source_.release_shared(slot); }
  [[nodiscard]] std::size_t acquire_n(std::span<void*> out) noexcept;
  /// The same, but adds no segment.
  [[nodiscard]] std::size_t acquire_present_n(std::span<void*> out) noexcept {
    return source_.acquire_n(out);
  }
  void release_n(std::span<void* const> slots) noexcept { source_.release_n(slots); }
  [[nodiscard]] pool_stats stats() const noexcept;

  // ---- growth -----------------------------------------------------------------------------------

  /// Slots in segments that are in service.
  [[nodiscard]] std::uint32_t capacity() const noexcept { return source_.capacity(); }

  /// Adds segments until there are `slots` slots at least. Returns 0, or the error number of the
  /// system when it refuses memory, or EBUSY if it needs segments that others have apart and do not
  /// get on with for a tenth of a second; the segments that came before stay. Blocking. Requires:
  /// slots is at most the capacity of the constructor.
  [[nodiscard]] int reserve(std::uint32_t slots) noexcept;

  /// The same. Before anybody can have the slots of a segment, calls `fill(first, count, note)`,
  /// which calls `note` now and then. Throws what `fill` throws, and adds no segment after that
  /// one.
  template <class Fill>
  [[nodiscard]] int reserve(std::uint32_t slots, const Fill& fill);

  /// Gives back segments all of whose slots are free, the highest first, as long as `slots` slots
  /// are left. Returns how many are. Blocking.
  std::uint32_t shrink_to(std::uint32_t slots) noexcept;

  /// Why the last attempt to add a segment failed; 0 if it did not.
  [[nodiscard]] int growth_error() const noexcept {
    // relaxed: for the text of an error
    return growth_error_.load(std::memory_order_relaxed);
  }

 private:
  using word = std::uint64_t;
  static constexpr word held = 1;
  [[nodiscard]] static bool is_held(word seen) noexcept { return (seen & held) != 0; }

  [[nodiscard, gnu::always_inline]] void* or_more(void* slot) noexcept {
    return slot != nullptr ? slot : acquire_more();
  }
  [[nodiscard, gnu::noinline]] void* acquire_more() noexcept;
  struct patience;
  struct attempt {
    void* slot;
    bool is_over;  ///< there is no sense in another look
  };
  [[nodiscard]] attempt try_grow(word seen, bool patient) noexcept;
  [[nodiscard]] bool unchanged_since(word seen) const noexcept;
  [[nodiscard]] bool rest_is_apart() const noexcept;

  [[nodiscard]] bool try_hold(word seen) noexcept;
  void hold() noexcept;
  void let_go() noexcept;
  void note_progress() noexcept;

  /// Of threads that live at a time no two have the same; a fork leaves it as it is. Not all have a
  /// number.
  [[nodiscard]] static const void* this_thread() noexcept { return &magazine_offset; }

  // All of these by the holder of `resize_`.
  [[nodiscard]] void* grow() noexcept;
  [[nodiscard]] int add_segment(void** kept) noexcept;
  [[nodiscard]] int back_segment(std::uint32_t segment) noexcept;
  [[nodiscard]] int back_if_retired(std::uint32_t segment) noexcept;
  template <class Work>
  auto do_apart(std::uint32_t segment, const Work& work);
  template <class Fill>
  void serve_filled(std::uint32_t segment, const Fill& fill);
  [[nodiscard]] bool wait_for_segment(patience& others) noexcept;
  void put_in_service(std::uint32_t segment, void** kept) noexcept;
  [[nodiscard]] std::uint32_t lowest_spare() noexcept;
  void put_back_census() noexcept;
  void take_out_free_segments(std::uint32_t slots) noexcept;
  [[nodiscard]] bool try_take_out(std::uint32_t segment) noexcept;
  void end_segment(std::uint32_t segment) noexcept;
  void retire(std::uint32_t segment) noexcept;
  [[nodiscard]] std::uint32_t count_slots(segment_state state) const noexcept;

  void on_thread_exit(std::uint32_t /*number*/) noexcept override {}
  void on_fork(std::uint32_t survivor) noexcept override;

  Memory& memory_;
  segment_plan plan_;
  std::size_t stride_;
  slot_source<Stack> source_;
  slot_census census_;
  std::unique_ptr<segment_state[]> states_;  ///< of each segment
  std::unique_ptr<const void*[]> apart_of_;  ///< this_thread() of who has had each segment apart
  std::uint32_t first_spare_ = 0;            ///< none below it is retired or leaving
  alignas(no_false_sharing) atomic<word> resize_{0};
  atomic<std::uint32_t> progress_{0};  ///< of the holder, and of who has a segment apart
  atomic<std::uint32_t> apart_{0};     ///< slots of segments that are apart
  atomic<int> growth_error_{0};
  atomic<std::uint32_t> segments_{0};
  atomic<std::uint64_t> growths_{0};
  atomic<std::uint64_t> shrinks_{0};
};

}  // namespace lido::detail
