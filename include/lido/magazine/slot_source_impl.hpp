/// @file
/// Internal. The owner's side of slot_source: what a thread does with its own cache.
/// slot_source_shared.hpp has the other side.
#pragma once

#include <algorithm>
#include <new>

#include "lido/concurrency/asymmetric_fence.hpp"
#include "lido/magazine/slot_source.hpp"
#include "lido/magazine/slot_source_endings.hpp"
#include "lido/magazine/slot_source_growth.hpp"
#include "lido/magazine/slot_source_shared.hpp"
#include "lido/magazine/slot_source_waiting.hpp"

namespace lido::detail {

/// Counts in a counter that one thread alone writes.
inline void bump(atomic<std::uint64_t>& counter) noexcept {
  // relaxed (2x): a number for statistics
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

template <index_stack Stack>
slot_source<Stack>::slot_source(slot_geometry slots, std::uint32_t capacity, cache_choice caches,
                                std::uint32_t max_cached, waiting_choice waiting)
    : slots_(slots),
      capacity_(grows ? 0 : capacity),
      max_cached_(std::min(max_cached, most_cached)),
      first_room_(std::min(first_room(), std::min(capacity / 2, max_cached_) + spare_cells)),
      has_caches_(caches != cache_choice::none && first_room_ > cache_sizing::smallest + 1),
      kind_(caches == cache_choice::automatic && heavy_fence_available() ? cache_kind::revocable
                                                                         : cache_kind::locked),
      first_cells_(has_caches_ ? sizeof(cell) * first_room_ * magazine_numbers : sizeof(cell),
                   no_false_sharing),
      depot_(capacity),
      waiters_(waiting == waiting_choice::allowed) {
  register_listener();
}

template <index_stack Stack>
slot_source<Stack>::~slot_source() {
  unregister_listener();
}

template <index_stack Stack>
void* slot_source<Stack>::acquire_slow(thread_cache& cache) noexcept {
  if (kind_ == cache_kind::locked) {
    if (void* const slot = cache.pop_locked(); slot != nullptr) {
      return slot;
    }
  }
  if (forget_operation_if_closed(cache)) {
    if (!try_open(cache)) {
      return acquire_past_cache(&cache);
    }
  } else {
    const thread_cache::settled found = cache.settle_pop(kind_);
    if (found.item != nullptr) {
      resume(cache, found);
      close_for_waiters(cache);
      return found.item;
    }
    size_for_refill(cache, found.robbed || found.contested);
  }
  void* const slot = refill(cache);
  close_for_waiters(cache);
  return slot != nullptr ? slot : acquire_past_cache(&cache);
}

template <index_stack Stack>
void slot_source<Stack>::release_slow(thread_cache& cache, void* slot) noexcept {
  if (kind_ == cache_kind::locked && cache.push_locked(slot, cache.notes().sizing.limit())) {
    return;
  }
  thread_cache::settled found{slot, 0, /*robbed=*/false, /*contested=*/false};
  if (forget_operation_if_closed(cache)) {
    if (!try_open(cache)) {
      release_past_cache(&cache, slot);
      return;
    }
  } else {
    found = cache.settle_push(kind_, slot);
  }
  if (found.item != nullptr) {
    // relaxed: published when the cache opens
    cache.cells()[found.count++].store(found.item, std::memory_order_relaxed);
  }
  resume(cache, found);
  close_for_waiters(cache);
}

template <index_stack Stack>
void* slot_source<Stack>::acquire_without_number() noexcept {
  return assign_thread_number() && magazine_offset != 0 ? acquire_slow(at(magazine_offset))
                                                        : acquire_past_cache(nullptr);
}

template <index_stack Stack>
void slot_source<Stack>::release_without_number(void* slot) noexcept {
  if (assign_thread_number() && magazine_offset != 0) {
    release_slow(at(magazine_offset), slot);
  } else {
    release_past_cache(nullptr, slot);
  }
}

/// Whether the owner closed its cache; a frozen one that it did not close has been robbed.
template <index_stack Stack>
bool slot_source<Stack>::forget_operation_if_closed(thread_cache& cache) noexcept {
  return cache.notes().sizing.closed() && cache.forget_operation_if_idle();
}

/// Makes a closed cache busy if it is time to use it.
template <index_stack Stack>
bool slot_source<Stack>::try_open(thread_cache& cache) noexcept {
  auto& notes = cache.notes();
  if (!has_caches_ || waiters_.any() || !notes.sizing.wants_to_open(scarcity(), ceiling())) {
    return false;
  }
  if (!notes.active) {
    notes.active = true;
    // relaxed: a number from which shares are computed
    open_caches_.fetch_add(1, std::memory_order_relaxed);
    raise_highest(static_cast<std::uint32_t>(&cache - caches_.data()));
  }
  (void)cache.settle(kind_);
  adopt_first_cells(cache);
  notes.sizing.grow(limit_for(cache));
  return true;
}

template <index_stack Stack>
void slot_source<Stack>::adopt_first_cells(thread_cache& cache) noexcept {
  if (!cache.cells().empty()) {
    return;
  }
  const auto number = static_cast<std::size_t>(&cache - caches_.data());
  std::byte* const place = first_cells_.data() + (number - 1) * first_room_ * sizeof(cell);
  auto* const first = ::new (place) cell(nullptr);
  for (std::size_t i = 1; i < first_room_; ++i) {
    ::new (place + i * sizeof(cell)) cell(nullptr);
  }
  cache.use_cells({first, first_room_});
}

// relaxed (whole function): whoever sees a slot in this cache missing from the depot has read a
// word that this thread wrote after it
template <index_stack Stack>
void slot_source<Stack>::raise_highest(std::uint32_t number) noexcept {
  std::uint32_t highest = highest_number_.load(std::memory_order_relaxed);
  while (highest < number) {
    if (highest_number_.compare_exchange_weak(highest, number, std::memory_order_relaxed,
                                              std::memory_order_relaxed)) {
      return;
    }
  }
}

/// The fair share of one cache of half of the slots.
template <index_stack Stack>
std::uint32_t slot_source<Stack>::ceiling() const noexcept {
  // relaxed: a number from which shares are computed
  const std::uint32_t caches = std::max(open_caches_.load(std::memory_order_relaxed), 1U);
  return std::min(max_cached_, capacity() / 2 / caches);
}

/// The fair share, as far as the cells go; one cell stays free for the push that fails.
template <index_stack Stack>
std::uint32_t slot_source<Stack>::limit_for(const thread_cache& cache) const noexcept {
  return std::min(ceiling(), static_cast<std::uint32_t>(cache.cells().size()) - 1);
}

/// Adapts the size of a busy, empty cache before it is filled.
template <index_stack Stack>
void slot_source<Stack>::size_for_refill(thread_cache& cache, bool too_large) noexcept {
  auto& notes = cache.notes();
  if (too_large) {
    notes.sizing.shrink(scarcity());
  } else if (!notes.sizing.closed()) {
    // A flush followed by a refill: the thread's bursts are larger than its cache.
    if (notes.last_was_flush) {
      enlarge(cache);
    }
    notes.sizing.grow(limit_for(cache));
  }
  notes.last_was_flush = false;
}

/// Fills a busy, empty cache and opens it; returns one slot, or null and the cache closed.
template <index_stack Stack>
void* slot_source<Stack>::refill(thread_cache& cache) noexcept {
  auto& notes = cache.notes();
  const std::uint32_t limit = notes.sizing.limit();
  std::array<slot_index, most_per_trip> slots;
  std::uint32_t count =
      limit == 0 ? 0 : depot_.take(slots, std::min(limit - limit / 8, most_per_trip));
  if (count == 0) {
    notes.sizing.close();
    cache.close();
    return nullptr;
  }
  bump(notes.refills);
  if (count - 1 > limit) {  // a whole magazine for a small cache
    depot_.give(std::span(slots).subspan(limit + 1, count - limit - 1));
    count = limit + 1;
  }
  count_drawn(&cache, count);
  const std::span<cell> cells = cache.cells();
  for (std::uint32_t i = 0; i + 1 < count; ++i) {
    // relaxed: published when the cache opens
    cells[i].store(slots_.address_of(slots[i]), std::memory_order_relaxed);
  }
  cache.open(kind_, count - 1, limit);
  return slots_.address_of(slots[count - 1]);
}

/// After an operation that is settled: adapts the size, hands back what is too much, opens again.
template <index_stack Stack>
void slot_source<Stack>::resume(thread_cache& cache, const thread_cache::settled& found) noexcept {
  auto& sizing = cache.notes().sizing;
  std::uint32_t count = found.count;
  if (found.contested) {
    // The thief would come again at once; it finds half of the slots in the depot instead.
    count = flush(cache, count, count / 2);
  }
  if ((found.contested || found.robbed) && !sizing.closed()) {
    sizing.shrink(scarcity());
  } else if (count > sizing.limit() && !sizing.closed()) {
    sizing.grow(limit_for(cache));
    if (count > sizing.limit()) {
      cache.notes().last_was_flush = true;
    }
  }
  reopen(cache, count);
}

template <index_stack Stack>
void slot_source<Stack>::reopen(thread_cache& cache, std::uint32_t count) noexcept {
  const std::uint32_t limit = cache.notes().sizing.limit();
  if (count > limit) {
    count = flush(cache, count, limit / 8);
  }
  if (limit == 0) {
    cache.close();
  } else {
    cache.open(kind_, count, limit);
  }
}

/// Gives the oldest items of a busy cache to the depot, in whole magazines where there are enough;
/// keeps at least `keep`. Returns how many are left. The newest stay: their memory is still warm.
template <index_stack Stack>
std::uint32_t slot_source<Stack>::flush(thread_cache& cache, std::uint32_t count,
                                        std::uint32_t keep) noexcept {
  std::uint32_t surplus = count - keep;
  if (surplus > magazine_size && keep > 0) {
    surplus -= surplus % magazine_size;
  }
  const std::span<cell> cells = cache.cells();
  std::array<void*, most_per_trip> chunk;
  for (std::uint32_t done = 0; done < surplus;) {
    const std::uint32_t size = std::min(surplus - done, most_per_trip);
    for (std::uint32_t i = 0; i < size; ++i) {
      // relaxed: written by this thread alone
      chunk[i] = cells[done + i].load(std::memory_order_relaxed);
    }
    give(&cache, std::span<void* const>(chunk).first(size));
    done += size;
  }
  for (std::uint32_t i = surplus; i < count; ++i) {
    // relaxed (2x): published when the cache opens
    cells[i - surplus].store(cells[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  if (surplus > 0) {
    bump(cache.notes().flushes);
  }
  return count - surplus;
}

/// Doubles the cells of a busy, empty cache, if memory is to be had: from where nobody's code runs,
/// which might use this cache.
template <index_stack Stack>
void slot_source<Stack>::enlarge(thread_cache& cache) noexcept {
  const std::size_t room = cache.cells().size() + 1;
  const std::size_t wanted =
      std::min<std::size_t>(room * 2, std::min(max_cached_, capacity() / 2) + spare_cells);
  if (wanted <= room || ceiling() < room) {
    return;
  }
  auto block = make_unhooked<cell_block>(1);
  if (block == nullptr) {
    return;
  }
  block[0].cells = make_unhooked<cell>(wanted);
  if (block[0].cells == nullptr) {
    return;
  }
  cache.use_cells({block[0].cells.get(), wanted});
  block[0].older = std::move(cache.notes().grown);  // a slow thief may still read them
  cache.notes().grown = std::move(block);
  // relaxed: a number for statistics
  grown_bytes_.fetch_add(wanted * sizeof(cell), std::memory_order_relaxed);
}

/// Pops up to out.size() slots of the caller's own cache in one go.
template <index_stack Stack>
std::size_t slot_source<Stack>::take_own(thread_cache& cache, std::span<void*> out) noexcept {
  if (forget_operation_if_closed(cache)) {
    return 0;
  }
  thread_cache::settled found = cache.settle(kind_);
  const std::span<cell> cells = cache.cells();
  std::size_t count = 0;
  while (count < out.size() && found.count > 0) {
    // relaxed: written by this thread alone
    out[count++] = cells[--found.count].load(std::memory_order_relaxed);
  }
  resume(cache, found);
  close_for_waiters(cache);
  return count;
}

template <index_stack Stack>
std::size_t slot_source<Stack>::acquire_n(std::span<void*> out) noexcept {
  if (magazine_offset == 0) {
    (void)assign_thread_number();
  }
  thread_cache* const self = own_cache();
  std::size_t count = self != nullptr && has_caches_ ? take_own(*self, out) : 0;
  while (count < out.size()) {
    if (const std::size_t taken = take_shared(self, out.subspan(count)); taken > 0) {
      count += taken;
    } else if (void* const slot = scavenge(self); slot != nullptr) {
      out[count++] = slot;
    } else {
      break;
    }
  }
  return count;
}

template <index_stack Stack>
void slot_source<Stack>::release_n(std::span<void* const> slots) noexcept {
  thread_cache* const self = own_cache();
  const bool cached = self != nullptr && has_caches_ && !self->notes().sizing.closed();
  // Whole trips go to the depot at once; the rest keeps the cache warm.
  while (slots.size() >= (cached ? most_per_trip : 1)) {
    const std::size_t size = std::min<std::size_t>(slots.size(), most_per_trip);
    give(self, slots.first(size));
    serve_waiters(self);
    slots = slots.subspan(size);
  }
  for (void* const slot : slots) {
    release(slot);
  }
}

}  // namespace lido::detail
