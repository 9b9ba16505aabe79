/// @file
/// Internal. How slots join and leave a slot_source. Included by slot_source_impl.hpp; for
/// growing_source, which sees to it that one thread at a time is here.
#pragma once

#include <array>
#include <span>

#include "lido/magazine/slot_source.hpp"

namespace lido::detail {

template <index_stack Stack>
void* slot_source<Stack>::acquire_from_depot() noexcept {
  void* slot = nullptr;
  (void)take_shared(own_cache(), {&slot, 1});
  return slot;
}

template <index_stack Stack>
int slot_source<Stack>::extend_to(std::uint32_t slots) noexcept {
  if constexpr (grows) {
    return depot_.extend_to(slots);
  } else {
    (void)slots;
    return 0;
  }
}

/// Before the slots themselves, so that never more are out than the numbers tell of.
template <index_stack Stack>
void* slot_source<Stack>::add_keeping_first(slot_index first, slot_index last) noexcept {
  if constexpr (grows) {
    // (1) - this release-fetch-add synchronizes-with slot_source.hpp (1), so whoever sees the new
    // capacity also sees that somebody is changing it
    capacity_.fetch_add(last - first, std::memory_order_release);
  }
  count_drawn(own_cache(), 1);
  depot_.add(first + 1, last);
  return slots_.address_of(first);
}

template <index_stack Stack>
void slot_source<Stack>::add(slot_index first, slot_index last) noexcept {
  void* const kept = add_keeping_first(first, last);
  release_past_cache(own_cache(), kept);
}

/// Two passes over the depot with a theft between them. A cache that is busy now, or opens later,
/// keeps what it has.
template <index_stack Stack>
template <class Sink>
void slot_source<Stack>::collect(Sink sink) noexcept {
  const auto empty_depot = [&] {
    std::array<slot_index, most_per_trip> slots;
    while (const std::uint32_t count = depot_.take(slots, most_per_trip)) {
      sink(std::span<const slot_index>(slots).first(count));
    }
  };
  empty_depot();
  if (look_around().open) {
    (void)steal(own_cache(), nullptr, /*take_over=*/false);
    empty_depot();
  }
}

template <index_stack Stack>
void slot_source<Stack>::remove(std::uint32_t slots) noexcept {
  if constexpr (grows) {
    // relaxed: nobody concludes anything from a capacity that is not the largest; who adds to it
    // takes hold of `resize_` of growing_source first
    capacity_.fetch_sub(slots, std::memory_order_relaxed);
  }
}

}  // namespace lido::detail
