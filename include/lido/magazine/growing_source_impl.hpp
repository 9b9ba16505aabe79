/// @file
/// Internal. The functions of growing_source.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "lido/base/mutation.hpp"
#include "lido/base/tuning.hpp"
#include "lido/magazine/growing_source.hpp"
#include "lido/magazine/slot_source_impl.hpp"

namespace lido::detail {

template <growing_index_stack Stack, segment_memory Memory>
growing_source<Stack, Memory>::growing_source(slot_geometry slots, std::size_t stride,
                                              std::uint32_t capacity, cache_choice caches,
                                              std::uint32_t max_cached, Memory& memory)
    : memory_(memory),
      plan_(stride, capacity, page_size()),
      stride_(stride),
      source_(slots, capacity, caches, max_cached),
      census_(capacity),
      in_service_(std::make_unique<bool[]>(plan_.segments())) {
  register_listener();
}

// ---- who may change the capacity
// ------------------------------------------------------------------

template <growing_index_stack Stack, segment_memory Memory>
bool growing_source<Stack, Memory>::try_hold(word seen) noexcept {
  // (1) - this acquire-CAS synchronizes-with the release-store (2), so the segments are as the last
  // holder left them. On failure relaxed: nothing is read that it could tell of.
  return !is_held(seen) &&
         resize_.compare_exchange_strong(seen, seen | held, std::memory_order_acquire,
                                         std::memory_order_relaxed);
}

template <growing_index_stack Stack, segment_memory Memory>
void growing_source<Stack, Memory>::hold() noexcept {
  exponential_backoff backoff;
  int waits = 0;
  // relaxed: only a guess, validated by (1)
  while (!try_hold(resize_.load(std::memory_order_relaxed))) {
    slot_source<Stack>::wait_for_transit(waits, backoff);
    waits = std::min(waits + 1, tuning::waits_before_nap + 1);
  }
}

template <growing_index_stack Stack, segment_memory Memory>
void growing_source<Stack, Memory>::let_go() noexcept {
  // relaxed: nobody else writes it while it is held
  const word now = resize_.load(std::memory_order_relaxed);
  // (2) - this release-store synchronizes-with the acquire-CAS (1) and the acquire-load (3)
  resize_.store(now + held, std::memory_order_release);
}

/// Nobody began to change the capacity since `seen` was read. Requires: the capacity, or a slot
/// that was not there, was read in between.
template <growing_index_stack Stack, segment_memory Memory>
bool growing_source<Stack, Memory>::unchanged_since(word seen) const noexcept {
  // relaxed: whoever has seen a capacity sees what its writer saw before, the word among it
  return broken(mutation::ignore_resize) || resize_.load(std::memory_order_relaxed) == seen;
}

template <growing_index_stack Stack, segment_memory Memory>
void growing_source<Stack, Memory>::note_progress() noexcept {
  // relaxed (2x): written by the holder alone; only that it moves is of interest
  const std::uint32_t now = progress_.load(std::memory_order_relaxed);
  progress_.store(now + 1, std::memory_order_relaxed);
}

// ---- an acquire that found nothing
// ------------------------------------------------------------------

/// Waits for the holder as long as it gets on.
template <growing_index_stack Stack, segment_memory Memory>
struct growing_source<Stack, Memory>::patience {
  exponential_backoff backoff;
  std::uint32_t progress = 0;
  int waits = 0;

  /// False: it has not got on for a tenth of a second.
  [[nodiscard]] bool wait(std::uint32_t now) noexcept {
    if (now != progress) {
      progress = now;
      waits = 0;
    }
    if (waits >= tuning::most_waits) {
      return false;
    }
    slot_source<Stack>::wait_for_transit(waits++, backoff);
    return true;
  }
};

/// Looks again between two looks at `resize_`. If it has not changed, all slots were out at once,
/// at a moment when nobody was changing the capacity. So the pool is exhausted if that was the most
/// there may be, and otherwise it is time for another segment, which is this thread's to add if it
/// gets hold of the word as it was.
template <growing_index_stack Stack, segment_memory Memory>
void* growing_source<Stack, Memory>::acquire_more() noexcept {
  patience holder;
  bool patient = true;
  for (;;) {
    // (3) - this acquire-load synchronizes-with the release-store (2), so the slots of the last
    // change are seen
    const word seen = resize_.load(std::memory_order_acquire);
    const bool wait = is_held(seen) && patient;
    if (void* const slot = wait ? source_.acquire_from_depot() : source_.acquire_again();
        slot != nullptr) {
      return slot;
    }
    if (wait) {
      // relaxed: only that it moves is of interest
      patient = holder.wait(progress_.load(std::memory_order_relaxed));
    } else if (is_held(seen)) {
      break;
    } else if (capacity() == plan_.capacity()) {
      if (unchanged_since(seen)) {
        break;
      }
    } else if (try_hold(seen)) {
      void* const slot = grow();
      let_go();
      if (slot != nullptr) {
        return slot;
      }
      break;
    }
  }
  source_.count_exhausted();
  return nullptr;
}

template <growing_index_stack Stack, segment_memory Memory>
std::size_t growing_source<Stack, Memory>::acquire_n(std::span<void*> out) noexcept {
  std::size_t count = 0;
  while (count < out.size()) {
    count += source_.acquire_n(out.subspan(count));
    if (count == out.size()) {
      break;
    }
    out[count] = acquire_more();
    if (out[count] == nullptr) {
      break;
    }
    ++count;
  }
  return count;
}

// ---- segments, by the holder
// ------------------------------------------------------------------------

/// A slot of a new segment; null if there is no memory. Adds a fixed part of the capacity, so that
/// a pool that grows slot by slot does this seldom.
template <growing_index_stack Stack, segment_memory Memory>
void* growing_source<Stack, Memory>::grow() noexcept {
  void* kept = nullptr;
  if (add_segment(&kept) == 0) {
    // relaxed: written by the holder alone
    const std::uint32_t wanted = segments_.load(std::memory_order_relaxed) / tuning::growth_divisor;
    for (std::uint32_t more = 1; more < wanted && capacity() < plan_.capacity(); ++more) {
      if (add_segment(nullptr) != 0) {
        break;
      }
    }
  }
  return kept;
}

template <growing_index_stack Stack, segment_memory Memory>
std::uint32_t growing_source<Stack, Memory>::lowest_retired() noexcept {
  while (in_service_[first_retired_]) {
    ++first_retired_;
  }
  return first_retired_;
}

/// Puts memory behind a segment and makes room for its slots in all that counts slots.
template <growing_index_stack Stack, segment_memory Memory>
int growing_source<Stack, Memory>::back_segment(std::uint32_t segment) noexcept {
  const slot_index first = plan_.first_of(segment);
  const std::uint32_t count = plan_.slots_of(segment);
  int error = source_.extend_to(first + count);
  error = error != 0 ? error : census_.extend_to(first + count);
  error = error != 0 ? error : memory_.commit(first, count);
  // relaxed: for the text of an error
  growth_error_.store(error, std::memory_order_relaxed);
  return error;
}

/// Takes the lowest retired segment into service; its first slot into `kept`, if that is not null.
/// Requires: there is one.
template <growing_index_stack Stack, segment_memory Memory>
int growing_source<Stack, Memory>::add_segment(void** kept) noexcept {
  const std::uint32_t segment = lowest_retired();
  if (const int error = back_segment(segment); error != 0) {
    return error;
  }
  const slot_index first = plan_.first_of(segment);
  const slot_index last = first + plan_.slots_of(segment);
  in_service_[segment] = true;
  // relaxed (2x): numbers for statistics
  segments_.fetch_add(1, std::memory_order_relaxed);
  growths_.fetch_add(1, std::memory_order_relaxed);
  if (kept != nullptr) {
    *kept = source_.add_keeping_first(first, last);
  } else {
    source_.add(first, last);
  }
  note_progress();
  return 0;
}

template <growing_index_stack Stack, segment_memory Memory>
int growing_source<Stack, Memory>::reserve(std::uint32_t slots) noexcept {
  hold();
  int error = 0;
  while (error == 0 && capacity() < slots) {
    error = add_segment(nullptr);
  }
  let_go();
  return error;
}

template <growing_index_stack Stack, segment_memory Memory>
std::uint32_t growing_source<Stack, Memory>::shrink_to(std::uint32_t slots) noexcept {
  hold();
  if (capacity() > slots) {
    source_.collect([this](std::span<const slot_index> found) {
      census_.insert(found);
      note_progress();
    });
    retire_free_segments(slots);
    put_back_census();
  }
  const std::uint32_t left = capacity();
  let_go();
  return left;
}

/// Low slots end on top, so that they are used first and high segments become free.
template <growing_index_stack Stack, segment_memory Memory>
void growing_source<Stack, Memory>::put_back_census() noexcept {
  std::array<slot_index, slot_census::most_at_once> chunk;
  std::uint64_t end = census_.end();
  std::size_t forgotten = broken(mutation::lose_census) ? 1 : 0;
  while (const std::size_t count = census_.take_highest(chunk, end)) {
    source_.give_back(std::span(chunk).first(count).subspan(std::exchange(forgotten, 0)));
    note_progress();
  }
}

template <growing_index_stack Stack, segment_memory Memory>
void growing_source<Stack, Memory>::retire_free_segments(std::uint32_t slots) noexcept {
  for (std::uint32_t segment = plan_.segments(); segment-- > 0 && capacity() > slots;) {
    const bool may_go = in_service_[segment] && capacity() - plan_.slots_of(segment) >= slots;
    if (may_go && try_retire(segment)) {
      first_retired_ = std::min(first_retired_, segment);
      note_progress();
    }
  }
}

template <growing_index_stack Stack, segment_memory Memory>
bool growing_source<Stack, Memory>::try_retire(std::uint32_t segment) noexcept {
  const slot_index first = plan_.first_of(segment);
  const std::uint32_t count = plan_.slots_of(segment);
  const std::uint32_t looked_at = broken(mutation::early_retirement) ? count - 1 : count;
  if (!census_.holds_all(first, first + looked_at)) {
    return false;
  }
  census_.erase(first, first + count);  // first, for the child of a fork that happens now
  if (memory_.decommit(first, count) != 0) {
    census_.insert_all(first, first + count);
    return false;
  }
  source_.remove(count);
  in_service_[segment] = false;
  // relaxed (2x): numbers for statistics
  segments_.fetch_sub(1, std::memory_order_relaxed);
  shrinks_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

/// Ends what a holder has begun that the fork has left behind. What it had in its hands and not in
/// the census is lost to this process.
template <growing_index_stack Stack, segment_memory Memory>
void growing_source<Stack, Memory>::on_fork(std::uint32_t /*survivor*/) noexcept {
  // relaxed: there is one thread
  if (is_held(resize_.load(std::memory_order_relaxed))) {
    put_back_census();
    let_go();
  }
}

// relaxed (whole function): numbers for statistics
template <growing_index_stack Stack, segment_memory Memory>
pool_stats growing_source<Stack, Memory>::stats() const noexcept {
  pool_stats stats = source_.stats();
  stats.max_capacity = plan_.capacity();
  stats.segments = segments_.load(std::memory_order_relaxed);
  stats.slot_bytes = stats.capacity * stride_;
  stats.growths = growths_.load(std::memory_order_relaxed);
  stats.shrinks = shrinks_.load(std::memory_order_relaxed);
  stats.bookkeeping_bytes += sizeof(*this) - sizeof(source_) + census_.memory() + plan_.segments();
  return stats;
}

}  // namespace lido::detail
