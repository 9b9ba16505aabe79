#include "growth.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <memory>
#include <optional>
#include <span>

#include "../concurrency/pool_scope.hpp"
#include "allocator_state.hpp"
#include "lido/base/address_space.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/base/tuning.hpp"
#include "lido/concurrency/backoff.hpp"
#include "slot_set.hpp"

namespace lido::inline v0::detail {

segment_table::segment_table(allocator_state& slots, segment_memory& memory, std::size_t stride,
                             std::uint32_t capacity)
    : slots_(slots),
      memory_(memory),
      plan_(stride, capacity, page_size()),
      stride_(stride),
      states_(std::make_unique<segment_state[]>(plan_.segments())) {
  LIDO_ASSERT(slots.capacity() == 0, "a pool that grows has slots before its segments");
}

// ---- which thread may change the capacity -------------------------------------------------------

/// Waits for the threads that change the capacity, as long as they make progress.
class segment_table::patience {
 public:
  /// Waits a little. Returns false if `progress` has not changed for a tenth of a second.
  [[nodiscard]] bool wait(const work_progress& progress) noexcept {
    others_.note_progress(progress.count());
    return allocator_state::wait_for_transit(others_);
  }

  /// Notes that no segment is spare. None becomes spare before `progress` changes, so locking
  /// `resize_` again before then would only delay the thread whose segment is `claimed`. Requires:
  /// the caller has locked `resize_`.
  void note_none_spare(const work_progress& progress) noexcept { none_at_ = progress.count(); }
  [[nodiscard]] bool knows_none_spare(const work_progress& progress) const noexcept {
    return none_at_ == progress.count();
  }

 private:
  bounded_wait others_;
  std::optional<std::uint32_t> none_at_;
};

bool segment_table::try_lock(word seen) noexcept {
  // (1) - this acquire-CAS synchronizes-with the release-store (2), so the caller sees the segments
  // as the last holder left them. On failure relaxed: the caller reads no segment.
  return !is_locked(seen) &&
         resize_.compare_exchange_strong(seen, seen | locked, std::memory_order_acquire,
                                         std::memory_order_relaxed);
}

void segment_table::lock() noexcept {
  patience holder;
  // relaxed: only a guess, validated by (1)
  while (!try_lock(resize_.load(std::memory_order_relaxed))) {
    (void)holder.wait(progress_);
  }
}

void segment_table::unlock() noexcept {
  // relaxed: no other thread writes the word while it is locked
  const word now = resize_.load(std::memory_order_relaxed);
  LIDO_ASSERT(is_locked(now), "a thread unlocks the segments, which none has locked");
  // (2) - this release-store synchronizes-with the acquire-CAS (1) and the acquire-load (3)
  resize_.store(now + locked, std::memory_order_release);
}

// ---- an acquire that found nothing --------------------------------------------------------------

/// Searches between two reads of `resize_`. If the word has not changed, there was a moment at
/// which no slot was free and no thread was changing the capacity. The pool is then exhausted if
/// the capacity is at its maximum. Otherwise, this thread adds a segment if it can lock the
/// unchanged word. It waits if all remaining segments are `claimed`.
// NOLINTNEXTLINE(readability-function-cognitive-complexity,readability-function-size): one loop
void* segment_table::steal_or_grow() noexcept {
  const calls_at_end later;  // callbacks may need the segments that this thread locks
  patience others;
  bool patient = true;
  for (;;) {
    // (3) - this acquire-load synchronizes-with the release-store (2), so the caller sees the slots
    // of the last change
    const word seen = resize_.load(std::memory_order_acquire);
    const bool waits = is_locked(seen) && patient;
    owned_cache* const self = slots_.own_cache();
    void* slot = waits ? slots_.refill_one(self) : slots_.refill_or_steal(self);
    if (slot != nullptr) {
      return slot;
    }
    const bool rest_is_claimed = patient && others.knows_none_spare(progress_);
    const outcome now =
        is_locked(seen) || rest_is_claimed ? outcome::others_change : try_grow(seen, slot, others);
    if (now == outcome::over || (now == outcome::others_change && !patient)) {
      if (slot == nullptr) {
        slots_.count_exhausted();
      }
      return slot;
    }
    if (now == outcome::others_change) {
      patient = others.wait(progress_);
    }
  }
}

bool segment_table::is_whole() const noexcept {
  return slots_.capacity() == plan_.capacity();
}

/// Adds a segment if possible, after a search that found nothing since `seen` was read. The result
/// `over` means that the caller need not search again.
auto segment_table::try_grow(word seen, void*& slot, patience& others) noexcept -> outcome {
  if (is_whole()) {
    // relaxed: a thread that sees a capacity also sees what its writer saw before, including this
    // word
    const bool unchanged = resize_.load(std::memory_order_relaxed) == seen;
    return unchanged ? outcome::over : outcome::look_again;
  }
  if (!try_lock(seen)) {
    return outcome::look_again;
  }
  const bool any_spare = lowest_spare() < plan_.segments();
  if (any_spare) {
    slot = grow();
  } else {
    others.note_none_spare(progress_);
  }
  unlock();
  return any_spare ? outcome::over : outcome::others_change;
}

/// Returns a slot of a new segment, or null if there is no memory. Adds a fixed fraction of the
/// capacity, so that a pool whose use grows slot by slot seldom calls this. Requires: a segment is
/// spare.
void* segment_table::grow() noexcept {
  LIDO_ASSERT(lowest_spare() < plan_.segments(), "a growth without a spare segment");
  const std::uint32_t wanted = slots_.capacity() / plan_.slots_of(0) / tuning::growth_divisor;
  // No slot was free, so all slots count as in use.
  (void)slots_.raise_high_water(slots_.capacity());
  void* slot = nullptr;
  int error = add_segment(lowest_spare(), &slot, nullptr);
  for (std::uint32_t more = 1; error == 0 && more < wanted && lowest_spare() < plan_.segments();
       ++more) {
    error = add_segment(lowest_spare(), nullptr, nullptr);
  }
  return slot;
}

// ---- added segments -----------------------------------------------------------------------------

/// Returns the lowest segment that can enter service, or the number of segments if there is none.
std::uint32_t segment_table::lowest_spare() noexcept {
  const auto is_spare = [this](std::uint32_t segment) {
    return states_[segment] == segment_state::retired || states_[segment] == segment_state::leaving;
  };
  while (first_spare_ < plan_.segments() && !is_spare(first_spare_)) {
    ++first_spare_;
  }
  return first_spare_;
}

/// Unlocks `resize_` while user code creates or destroys the objects of a segment. User code may
/// take a long time, use the pool, or throw. Requires: the segment is not in service, and has
/// memory.
class segment_table::claim {
 public:
  claim(segment_table& table, std::uint32_t segment) noexcept : table_(table) {
    LIDO_ASSERT(table_.states_[segment] != segment_state::in_service,
                "a segment in service is filled or emptied");
    table_.states_[segment] = segment_state::claimed;
    table_.unlock();
  }
  claim(const claim&) = delete;
  claim& operator=(const claim&) = delete;
  ~claim() { table_.lock(); }

 private:
  segment_table& table_;
};

/// Puts a spare segment into service. Stores the first slot of the segment in `first_slot`, unless
/// `first_slot` is null. Commits memory only for a retired segment, because a segment that is
/// leaving still has its memory.
int segment_table::add_segment(std::uint32_t segment, void** first_slot, segment_fill* fill) {
  const std::int64_t begin = begin_event();
  const slot_index first = plan_.first_of(segment);
  const std::uint32_t count = plan_.slots_of(segment);
  if (states_[segment] == segment_state::retired) {
    int error = slots_.extend_to(first + count);
    error = error != 0 ? error : memory_.commit(first, count);
    // relaxed: for the text of an error
    growth_error_.store(error, std::memory_order_relaxed);
    if (error != 0) {
      return error;
    }
    // relaxed: a number for statistics
    growths_.fetch_add(1, std::memory_order_relaxed);
  }
  // Catches no exception: if `fill` calls pthread_exit, nothing may stop the unwinding of the
  // stack.
  const scope_exit join([this, segment, first_slot, begin, count] {
    put_in_service(segment, first_slot);
    slots_.end_event(traced_act::grow, begin, count);
  });
  if (fill != nullptr) {
    const claim filling(*this, segment);
    fill->fill(first, count, progress_);
  }
  return 0;
}

void segment_table::put_in_service(std::uint32_t segment, void** first_slot) noexcept {
  const slot_index first = plan_.first_of(segment);
  const slot_index last = first + plan_.slots_of(segment);
  LIDO_ASSERT(states_[segment] != segment_state::in_service, "a segment enters service twice");
  states_[segment] = segment_state::in_service;
  void* const slot = slots_.add_keeping_first(first, last);
  if (first_slot != nullptr) {
    *first_slot = slot;
  } else {
    slots_.release_past_cache(slots_.own_cache(), slot);
  }
  progress_.note();
}

// NOLINTNEXTLINE(readability-function-size): a wait within a loop
int segment_table::reserve(std::uint32_t slots, segment_fill* fill) {
  LIDO_ASSERT(slots <= plan_.capacity(), "more slots are reserved than there may be");
  const calls_at_end later;  // as in steal_or_grow
  patience others;
  int error = 0;
  lock();
  const scope_exit end([this] { unlock(); });
  while (error == 0 && slots_.capacity() < slots) {
    if (const std::uint32_t segment = lowest_spare(); segment < plan_.segments()) {
      error = add_segment(segment, nullptr, fill);
    } else {
      others.note_none_spare(progress_);
      // The thread whose segment is `claimed` must be able to lock the word.
      unlock();
      while (error == 0 && others.knows_none_spare(progress_)) {
        error = others.wait(progress_) ? 0 : EBUSY;
      }
      lock();
    }
  }
  return error;
}

// ---- removed segments ---------------------------------------------------------------------------

/// Records the free slots that a shrinking thread has collected, and counts them in each segment.
class segment_table::found_slots {
 public:
  static constexpr std::uint32_t most_at_once = slot_set::slots_in_word;

  /// Allocates memory for the slots of the first `segments` segments.
  found_slots(const segment_table& table, std::uint32_t segments) noexcept
      : table_(table), slots_(std::size_t{segments} * table.plan_.slots_of(0)), counts_(segments) {}

  /// Returns false if there was no memory.
  [[nodiscard]] bool is_valid() const noexcept { return slots_.is_valid() && counts_.is_valid(); }

  void insert(std::span<const slot_index> slots) noexcept {
    for (const slot_index slot : slots) {
      slots_.insert(slot);
      ++counts_[slot / table_.plan_.slots_of(0)];
    }
  }

  [[nodiscard]] bool holds_all_of(std::uint32_t segment) const noexcept {
    return counts_[segment] == table_.plan_.slots_of(segment);
  }

  [[nodiscard]] std::size_t words() const noexcept { return slots_.words(); }

  /// Writes the recorded slots of the word `at` to `out`, in descending order, but leaves out slots
  /// of segments that are not in service. Returns how many it wrote.
  [[nodiscard]] std::uint32_t list(std::size_t at,
                                   std::array<slot_index, most_at_once>& out) const noexcept {
    std::uint32_t count = 0;
    for (slot_set::word left = slots_.word_at(at); left != 0;) {
      const auto bit = static_cast<unsigned>(std::bit_width(left)) - 1;
      left -= slot_set::word{1} << bit;
      const auto slot = static_cast<slot_index>(at * most_at_once + bit);
      if (table_.states_[slot / table_.plan_.slots_of(0)] == segment_state::in_service) {
        out[count++] = slot;
      }
    }
    return count;
  }

 private:
  const segment_table& table_;
  slot_set slots_;
  zeros<std::uint32_t> counts_;
};

std::uint32_t segment_table::shrink_to(std::uint32_t slots) noexcept {
  const calls_at_end later;  // as in steal_or_grow
  lock();
  const scope_exit end([this] {
    progress_.note();  // a pass that finds nothing counts as progress, too
    unlock();
  });
  std::uint32_t segments = slots_.capacity() > slots ? plan_.segments() : 0;
  while (segments > 0 && states_[segments - 1] != segment_state::in_service) {
    --segments;
  }
  if (found_slots found(*this, segments); segments > 0 && found.is_valid()) {
    slots_.collect([this, &found](std::span<const slot_index> some) {
      found.insert(some);
      progress_.note();
    });
    take_out_free_segments(found, segments, slots);
    put_back(found);
    serve_waiters();
  }
  for (; segments > 0; --segments) {
    if (states_[segments - 1] == segment_state::leaving) {
      end_segment(segments - 1);
    }
  }
  return slots_.capacity();
}

void segment_table::take_out_free_segments(const found_slots& found, std::uint32_t segments,
                                           std::uint32_t slots) noexcept {
  while (segments-- > 0) {
    const std::uint32_t count = plan_.slots_of(segments);
    if (slots_.capacity() - slots >= count && found.holds_all_of(segments)) {
      slots_.remove(count);
      make_spare(segments, segment_state::leaving);
      progress_.note();
    }
  }
}

/// Puts slots back, low slots on top, so that low slots are used first and high segments become
/// free.
void segment_table::put_back(const found_slots& found) noexcept {
  std::array<slot_index, found_slots::most_at_once> chunk;
  for (std::size_t at = found.words(); at > 0; --at) {
    if (const std::uint32_t count = found.list(at - 1, chunk); count > 0) {
      slots_.give_back(std::span(chunk).first(count));
      progress_.note();
    }
  }
}

/// Puts segments into service again if waiters need them, since this thread may have held a slot
/// whose release would have served a waiter. A thread that begins to wait from now on needs no such
/// help, because it sees that the capacity is being changed.
void segment_table::serve_waiters() noexcept {
  int error = 0;
  while (error == 0 && slots_.any_waiting() && lowest_spare() < plan_.segments()) {
    error = add_segment(lowest_spare(), nullptr, nullptr);
  }
}

/// Gives the memory of a leaving segment back to the system. If that fails, puts the segment into
/// service again.
void segment_table::end_segment(std::uint32_t segment) noexcept {
  const slot_index first = plan_.first_of(segment);
  const std::uint32_t count = plan_.slots_of(segment);
  int error = 0;
  {
    const claim ending(*this, segment);
    memory_.vacate(first, count, progress_);
    error = memory_.decommit(first, count);
  }
  if (error != 0) {
    put_in_service(segment, nullptr);
    return;
  }
  make_spare(segment, segment_state::retired);
  // relaxed: a number for statistics
  shrinks_.fetch_add(1, std::memory_order_relaxed);
  progress_.note();
}

void segment_table::make_spare(std::uint32_t segment, segment_state state) noexcept {
  states_[segment] = state;
  first_spare_ = (std::min)(first_spare_, segment);
}

// relaxed (whole function): numbers for statistics
void segment_table::add_to(slot_pool_stats& stats) const noexcept {
  stats.growth = {.max_capacity = plan_.capacity(),
                  .segments = (stats.capacity + plan_.slots_of(0) - 1) / plan_.slots_of(0),
                  .slot_bytes = stats.capacity * stride_,
                  .growths = growths_.load(std::memory_order_relaxed),
                  .shrinks = shrinks_.load(std::memory_order_relaxed)};
  stats.bookkeeping_bytes += bytes_needed(plan_);
}

}  // namespace lido::inline v0::detail
