/// @file
/// Internal. How a growing_source adds segments and gives them back: what the holder of `resize_`
/// does. Included by growing_source_impl.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <type_traits>
#include <utility>

#include "lido/base/scope_exit.hpp"
#include "lido/base/tuning.hpp"
#include "lido/magazine/growing_source.hpp"

namespace lido::detail {

/// A slot of a new segment; null if there is no memory. Adds a fixed part of the capacity, so that
/// a pool that grows slot by slot does this seldom.
template <growing_index_stack Stack, segment_memory Memory>
void* growing_source<Stack, Memory>::grow() noexcept {
  void* kept = nullptr;
  int error = add_segment(&kept);
  // relaxed: written by the holder alone
  const std::uint32_t wanted = segments_.load(std::memory_order_relaxed) / tuning::growth_divisor;
  for (std::uint32_t more = 1; error == 0 && more < wanted && lowest_spare() < plan_.segments();
       ++more) {
    error = add_segment(nullptr);
  }
  return kept;
}

/// The lowest segment that can be taken into service; if there is none, the number of segments.
template <growing_index_stack Stack, segment_memory Memory>
std::uint32_t growing_source<Stack, Memory>::lowest_spare() noexcept {
  const auto is_spare = [this](std::uint32_t segment) {
    return states_[segment] == segment_state::retired || states_[segment] == segment_state::leaving;
  };
  while (first_spare_ < plan_.segments() && !is_spare(first_spare_)) {
    ++first_spare_;
  }
  return first_spare_;
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

template <growing_index_stack Stack, segment_memory Memory>
int growing_source<Stack, Memory>::back_if_retired(std::uint32_t segment) noexcept {
  if (states_[segment] == segment_state::leaving) {
    return 0;  // nobody has taken its memory yet
  }
  const int error = back_segment(segment);
  // relaxed: a number for statistics
  growths_.fetch_add(error == 0 ? 1 : 0, std::memory_order_relaxed);
  return error;
}

/// Takes the lowest spare segment into service; its first slot into `kept`, if that is not null.
/// Requires: there is one.
template <growing_index_stack Stack, segment_memory Memory>
int growing_source<Stack, Memory>::add_segment(void** kept) noexcept {
  const std::uint32_t segment = lowest_spare();
  const int error = back_if_retired(segment);
  if (error == 0) {
    put_in_service(segment, kept);
  }
  return error;
}

/// Does what is the user's to do with what slots hold. Lets go of the word meanwhile, since that
/// may take its time, use the pool, or throw. Requires: the segment is not in service, and has
/// memory.
template <growing_index_stack Stack, segment_memory Memory>
template <class Work>
auto growing_source<Stack, Memory>::do_apart(std::uint32_t segment, const Work& work) {
  const std::uint32_t count = plan_.slots_of(segment);
  apart_of_[segment] = this_thread();
  light_fence();  // for the child of a fork that happens now
  states_[segment] = segment_state::apart;
  // relaxed: only for the guess of who finds no segment to add
  apart_.fetch_add(count, std::memory_order_relaxed);
  let_go();
  const scope_exit take_up([this, count] {
    hold();
    // relaxed: as above
    apart_.fetch_sub(count, std::memory_order_relaxed);
  });
  return work(plan_.first_of(segment), count, [this] { note_progress(); });
}

/// In service it is in any case, filled or not.
template <growing_index_stack Stack, segment_memory Memory>
template <class Fill>
void growing_source<Stack, Memory>::serve_filled(std::uint32_t segment, const Fill& fill) {
  const scope_exit join([this, segment] { put_in_service(segment, nullptr); });
  if constexpr (!std::is_null_pointer_v<Fill>) {
    do_apart(segment, fill);
  }
}

/// Its slots into the source, the first one into `kept`, if that is not null.
template <growing_index_stack Stack, segment_memory Memory>
void growing_source<Stack, Memory>::put_in_service(std::uint32_t segment, void** kept) noexcept {
  const slot_index first = plan_.first_of(segment);
  const slot_index last = first + plan_.slots_of(segment);
  states_[segment] = segment_state::moving;
  if (kept != nullptr) {
    *kept = source_.add_keeping_first(first, last);
  } else {
    source_.add(first, last);
  }
  states_[segment] = segment_state::in_service;
  // relaxed: a number for statistics
  segments_.fetch_add(1, std::memory_order_relaxed);
  note_progress();
}

/// Lets go of the word until somebody gets on, as whoever has a segment apart must take hold of it.
/// False: nobody does.
template <growing_index_stack Stack, segment_memory Memory>
bool growing_source<Stack, Memory>::wait_for_segment(patience& others) noexcept {
  // relaxed (2x): only that it moves is of interest; no segment comes back while the word is held
  const std::uint32_t before = progress_.load(std::memory_order_relaxed);
  bool patient = true;
  let_go();
  while (patient && progress_.load(std::memory_order_relaxed) == before) {
    patient = others.wait(before);
  }
  hold();
  return patient;
}

template <growing_index_stack Stack, segment_memory Memory>
int growing_source<Stack, Memory>::reserve(std::uint32_t slots) noexcept {
  return reserve(slots, nullptr);
}

template <growing_index_stack Stack, segment_memory Memory>
template <class Fill>
int growing_source<Stack, Memory>::reserve(std::uint32_t slots, const Fill& fill) {
  patience others;
  int error = 0;
  hold();
  // Nothing is caught: a thread that is cancelled in `fill` must not stop unwinding its stack.
  const scope_exit end([this] { let_go(); });
  while (error == 0 && capacity() < slots) {
    if (const std::uint32_t segment = lowest_spare(); segment == plan_.segments()) {
      error = wait_for_segment(others) ? 0 : EBUSY;
    } else if (error = back_if_retired(segment); error == 0) {
      serve_filled(segment, fill);
    }
  }
  return error;
}

template <growing_index_stack Stack, segment_memory Memory>
std::uint32_t growing_source<Stack, Memory>::shrink_to(std::uint32_t slots) noexcept {
  hold();
  const bool shrinks = capacity() > slots;
  if (shrinks) {
    source_.collect([this](std::span<const slot_index> found) {
      census_.insert(found);
      note_progress();
    });
    take_out_free_segments(slots);
    put_back_census();
  }
  for (std::uint32_t segment = shrinks ? plan_.segments() : 0; segment-- > 0;) {
    if (states_[segment] == segment_state::leaving) {
      end_segment(segment);
    }
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
  while (const std::size_t count = census_.take_highest(chunk, end)) {
    source_.give_back(std::span(chunk).first(count));
    note_progress();
  }
}

template <growing_index_stack Stack, segment_memory Memory>
void growing_source<Stack, Memory>::take_out_free_segments(std::uint32_t slots) noexcept {
  for (std::uint32_t segment = plan_.segments(); segment-- > 0 && capacity() > slots;) {
    const bool may_go = states_[segment] == segment_state::in_service &&
                        capacity() - plan_.slots_of(segment) >= slots;
    if (may_go && try_take_out(segment)) {
      first_spare_ = std::min(first_spare_, segment);
      note_progress();
    }
  }
}

template <growing_index_stack Stack, segment_memory Memory>
bool growing_source<Stack, Memory>::try_take_out(std::uint32_t segment) noexcept {
  const slot_index first = plan_.first_of(segment);
  const std::uint32_t count = plan_.slots_of(segment);
  if (!census_.holds_all(first, first + count)) {
    return false;
  }
  states_[segment] = segment_state::moving;  // first, for the child of a fork that happens now
  source_.remove(count);
  census_.erase(first, first + count);
  states_[segment] = segment_state::leaving;
  // relaxed: a number for statistics
  segments_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

template <growing_index_stack Stack, segment_memory Memory>
void growing_source<Stack, Memory>::retire(std::uint32_t segment) noexcept {
  states_[segment] = segment_state::retired;
  first_spare_ = std::min(first_spare_, segment);
}

template <growing_index_stack Stack, segment_memory Memory>
std::uint32_t growing_source<Stack, Memory>::count_slots(segment_state state) const noexcept {
  std::uint32_t count = 0;
  for (std::uint32_t segment = 0; segment < plan_.segments(); ++segment) {
    count += states_[segment] == state ? plan_.slots_of(segment) : 0;
  }
  return count;
}

/// Gives back the memory of a segment that is leaving.
template <growing_index_stack Stack, segment_memory Memory>
void growing_source<Stack, Memory>::end_segment(std::uint32_t segment) noexcept {
  const auto give_back = [this](slot_index first, std::uint32_t count, const auto& note) {
    memory_.vacate(first, count, note);
    return memory_.decommit(first, count);
  };
  if (do_apart(segment, give_back) != 0) {
    put_in_service(segment, nullptr);
    return;
  }
  retire(segment);
  // relaxed: a number for statistics
  shrinks_.fetch_add(1, std::memory_order_relaxed);
  note_progress();
}

}  // namespace lido::detail
