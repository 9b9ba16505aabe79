/// @file
/// Internal. The functions of growing_source.
#pragma once

#include <algorithm>

#include "lido/base/tuning.hpp"
#include "lido/magazine/growing_source.hpp"
#include "lido/magazine/growing_source_segments.hpp"
#include "lido/magazine/slot_source_impl.hpp"

namespace lido::detail {

template <growing_index_stack Stack, segment_memory Memory>
// NOLINTNEXTLINE(readability-function-size): each is something else, and there is one caller
growing_source<Stack, Memory>::growing_source(slot_geometry slots, std::size_t stride,
                                              std::uint32_t capacity, cache_choice caches,
                                              std::uint32_t max_cached, Memory& memory)
    : memory_(memory),
      plan_(stride, capacity, page_size()),
      stride_(stride),
      source_(slots, capacity, caches, max_cached),
      census_(capacity),
      states_(std::make_unique<segment_state[]>(plan_.segments())),
      apart_of_(std::make_unique<const void*[]>(plan_.segments())) {
  register_listener();
}

// ---- who may change the capacity --------------------------------------------------------------

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
  return resize_.load(std::memory_order_relaxed) == seen;
}

template <growing_index_stack Stack, segment_memory Memory>
void growing_source<Stack, Memory>::note_progress() noexcept {
  // relaxed: only that it moves is of interest
  progress_.fetch_add(1, std::memory_order_relaxed);
}

/// Whether all segments that might be added are apart.
template <growing_index_stack Stack, segment_memory Memory>
bool growing_source<Stack, Memory>::rest_is_apart() const noexcept {
  // relaxed: only a guess, which says how long to wait
  const std::uint32_t apart = apart_.load(std::memory_order_relaxed);
  return apart != 0 && capacity() + apart == plan_.capacity();
}

// ---- an acquire that found nothing ------------------------------------------------------------

/// Waits for who changes the capacity, as long as that gets on.
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
/// gets hold of the word as it was. Where all other segments are being given back, it waits for
/// one.
template <growing_index_stack Stack, segment_memory Memory>
void* growing_source<Stack, Memory>::acquire_more() noexcept {
  patience others;
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
    if (wait || (patient && rest_is_apart())) {
      // relaxed: only that it moves is of interest
      patient = others.wait(progress_.load(std::memory_order_relaxed));
    } else if (const attempt last = try_grow(seen, patient); last.is_over) {
      return last.slot;
    }
  }
}

/// After a look that found nothing since `seen` was read.
template <growing_index_stack Stack, segment_memory Memory>
auto growing_source<Stack, Memory>::try_grow(word seen, bool patient) noexcept -> attempt {
  attempt now{nullptr, is_held(seen)};
  if (!now.is_over && capacity() == plan_.capacity()) {
    now.is_over = unchanged_since(seen);
  } else if (!now.is_over && try_hold(seen)) {
    const bool spare = lowest_spare() < plan_.segments();
    now.slot = spare ? grow() : nullptr;
    now.is_over = spare || !patient;
    let_go();
  }
  if (now.is_over && now.slot == nullptr) {
    source_.count_exhausted();
  }
  return now;
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

/// Ends what threads have begun that the fork has left behind. What a holder had in its hands and
/// not in the census is lost to this process. A segment that another thread had apart is as one
/// without memory, whatever has become of it: to give it memory that it has does nothing, and what
/// is in its slots is known slot by slot. So is one that was moving, unless the capacity tells of
/// it.
// relaxed (whole function): there is one thread
template <growing_index_stack Stack, segment_memory Memory>
void growing_source<Stack, Memory>::on_fork(std::uint32_t /*survivor*/) noexcept {
  const bool counts_moving = count_slots(segment_state::in_service) != capacity();
  std::uint32_t in_service = 0;
  for (std::uint32_t segment = 0; segment < plan_.segments(); ++segment) {
    const bool left_behind =
        states_[segment] == segment_state::apart && apart_of_[segment] != this_thread();
    const bool moving = states_[segment] == segment_state::moving;
    if (moving && counts_moving) {
      states_[segment] = segment_state::in_service;
    } else if (left_behind || moving) {
      const slot_index first = plan_.first_of(segment);
      census_.erase(first, first + plan_.slots_of(segment));
      states_[segment] = segment_state::retired;
    }
    in_service += states_[segment] == segment_state::in_service ? 1U : 0U;
  }
  first_spare_ = 0;  // whoever was about to lower it may be missing
  segments_.store(in_service, std::memory_order_relaxed);
  apart_.store(count_slots(segment_state::apart), std::memory_order_relaxed);
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
  stats.bookkeeping_bytes += sizeof(*this) - sizeof(source_) + census_.memory();
  stats.bookkeeping_bytes += plan_.segments() * (sizeof(segment_state) + sizeof(apart_of_[0]));
  return stats;
}

}  // namespace lido::detail
