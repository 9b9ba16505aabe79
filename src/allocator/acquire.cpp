// Handles acquires and releases that missed in the cache of the calling thread. The thread refills
// its cache from the shared lists, or flushes slots from its cache into the lists. If the lists
// contain no slot, the search continues in theft.cpp.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <utility>

#include "allocator_state.hpp"
#include "growth.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/tuning.hpp"

namespace lido::inline v0::detail {

namespace {

/// Adds `by` to a counter that only one thread writes.
void bump(atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
  // relaxed (2x): a number for statistics
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

/// Number of cells that a cache needs beyond its limit: a failing pop reads one of them, and a
/// failing push fills the other.
constexpr std::uint32_t spare_cells = 2;

/// Returns the cells between `cache` and the next entry of the table. The cells are zeros until
/// they are used. Excludes the word before the next entry, because a push by the thread of that
/// entry may write there in the child of a fork (see slot_cache).
std::span<slot_cache::cell> first_cells(owned_cache& cache) noexcept {
  return {static_cast<slot_cache::cell*>(static_cast<void*>(&cache + 1)),
          (tuning::first_cache_bytes - sizeof(owned_cache)) / sizeof(slot_cache::cell) - 1};
}

}  // namespace

// ---- an operation that missed -------------------------------------------------------------------

void* allocator_state::acquire_after_miss(std::size_t offset) noexcept {
  LIDO_ASSERT(!is_restarting(), "a destructor that release_all calls uses the pool");
  owned_cache* const own = own_cache_after_miss(offset);
  count_misses(own, 1);
  if (kind_ == lido::cache_kind::none || own == nullptr) {
    return refill_steal_or_grow(own);
  }
  if (kind_ == lido::cache_kind::locked) {
    if (void* const slot = own->pop_locked(); slot != nullptr) {
      return slot;
    }
  }
  return settle_acquire(*own);
}

/// Acquires a slot after a pop missed in `cache` or in `unused_caches`. This is a separate function
/// because it needs stack space, which the other paths of its caller do not need.
void* allocator_state::settle_acquire(owned_cache& cache) noexcept {
  if (forget_operation_if_closed(cache)) {
    if (proof_.holds() || !try_open(cache)) {
      return refill_steal_or_grow(&cache);
    }
  } else {
    const slot_cache::settled found = cache.settle_pop(kind_);
    proof_.withdraw_after_change();
    if (found.item != nullptr) {
      resume(cache, found);
      close_for_waiters(cache);
      return found.item;
    }
    // A restart says nothing about the size of the cache.
    if (!found.robbed || !cache.forget_restart()) {
      size_for_refill(cache, found.robbed || found.contested);
    }
  }
  void* const slot = refill(cache);
  close_for_waiters(cache);
  return slot != nullptr ? slot : refill_steal_or_grow(&cache);
}

void allocator_state::release_after_miss(std::size_t offset, void* slot) noexcept {
  LIDO_ASSERT(!is_restarting(), "a destructor that release_all calls uses the pool");
  owned_cache* const own = own_cache_after_miss(offset);
  if (kind_ == lido::cache_kind::none || own == nullptr) {
    return release_past_cache(own, slot);
  }
  if (kind_ != lido::cache_kind::locked || !own->push_locked(slot, own->limit.slots())) {
    settle_release(*own, slot);
  }
}

/// Releases `slot` after a push missed in `cache` or in `unused_caches`. Requires: the pool has
/// caches.
void allocator_state::settle_release(owned_cache& cache, void* slot) noexcept {
  LIDO_ASSERT(kind_ != lido::cache_kind::none, "a release into a cache of a pool without caches");
  slot_cache::settled found{slot, 0, /*robbed=*/false, /*contested=*/false};
  if (forget_operation_if_closed(cache)) {
    if (!try_open(cache)) {
      release_past_cache(&cache, slot);
      return;
    }
  } else {
    found = cache.settle_push(kind_, slot);
    proof_.withdraw_after_change();
  }
  if (found.item != nullptr) {
    // relaxed: published when the cache opens
    cache.cells()[found.count++].store(found.item, std::memory_order_relaxed);
  }
  resume(cache, found);
  close_for_waiters(cache);
}

/// If the owner has closed its cache, undoes the operation and returns true. A cache that is frozen
/// although its owner has not closed it has been robbed, so the operation must be settled.
bool allocator_state::forget_operation_if_closed(owned_cache& cache) noexcept {
  return cache.limit.closed() && cache.forget_operation_if_idle();
}

/// If it is time to open a closed cache, makes the cache busy and returns true.
bool allocator_state::try_open(owned_cache& cache) noexcept {
  if (waiters_.any() || !cache.limit.wants_to_open(scarcity(), ceiling())) {
    return false;
  }
  if (!cache.active) {
    if (!try_note_use(cache.use)) {
      return false;
    }
    cache.active = true;
    // relaxed: used only to compute fair shares
    open_caches_.fetch_add(1, std::memory_order_relaxed);
  }
  (void)cache.settle(kind_);
  proof_.withdraw_after_change();
  if (cache.cells().empty()) {
    cache.use_cells(first_cells(cache));
  }
  cache.limit.grow(limit_for(cache));
  return true;
}

// ---- the size of a cache ------------------------------------------------------------------------

/// Returns the fair share of one cache: half of the slots, divided among the open caches, but at
/// most max_cached_.
std::uint32_t allocator_state::ceiling() const noexcept {
  // relaxed: used only to compute fair shares
  const std::uint32_t caches = (std::max)(open_caches_.load(std::memory_order_relaxed), 1U);
  return (std::min)(max_cached_, capacity() / 2 / caches);
}

/// Returns the fair share of `cache`, limited by the number of its cells. One cell stays free for a
/// push that fails.
std::uint32_t allocator_state::limit_for(const owned_cache& cache) const noexcept {
  return (std::min)(ceiling(), static_cast<std::uint32_t>(cache.cells().size()) - 1);
}

/// Adapts the size of a busy, empty cache before it is filled.
void allocator_state::size_for_refill(owned_cache& cache, bool too_large) noexcept {
  if (too_large) {
    cache.limit.shrink(scarcity());
  } else if (!cache.limit.closed()) {
    // A flush followed by a refill shows that the thread's bursts are larger than its cache.
    if (cache.last_was_flush) {
      enlarge(cache);
    }
    cache.limit.grow(limit_for(cache));
  }
  cache.last_was_flush = false;
}

/// Doubles the number of cells of a busy, empty cache, if there is memory. Calls no user code,
/// since user code might use this cache.
void allocator_state::enlarge(owned_cache& cache) noexcept {
  const std::size_t cells = cache.cells().size() + 1;
  const std::size_t wanted =
      std::min<std::size_t>(cells * 2, (std::min)(max_cached_, capacity() / 2) + spare_cells);
  if (wanted <= cells || ceiling() < cells) {
    return;
  }
  const std::size_t bytes = wanted * sizeof(slot_cache::cell);
  // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): a new-handler of the user may use this pool
  auto* const block = static_cast<cell_block*>(std::calloc(1, sizeof(cell_block) + bytes));
  if (block == nullptr) {
    return;
  }
  cache.use_cells({static_cast<slot_cache::cell*>(static_cast<void*>(block + 1)), wanted});
  // relaxed (3x): read only by the destructor
  block->next = blocks_.load(std::memory_order_relaxed);
  while (!blocks_.compare_exchange_weak(block->next, block, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
  }
  // relaxed: a number for statistics
  grown_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

// ---- between the cache and the depot ------------------------------------------------------------

/// Fills a busy, empty cache, opens it, and returns one slot. If there is no slot for the cache,
/// closes it and returns null.
void* allocator_state::refill(owned_cache& cache) noexcept {
  const std::int64_t begin = begin_event();
  const std::uint32_t limit = cache.limit.slots();
  std::array<slot_index, most_per_trip> slots;
  std::uint32_t count = limit == 0 ? 0
                                   : depot_.take(home_of(&cache), slots,
                                                 (std::min)(limit - limit / 8, most_per_trip));
  if (count == 0) {
    cache.limit.close();
    cache.close();
    return nullptr;
  }
  bump(cache.refills);
  // The depot may have given a whole magazine to a small cache.
  if (count - 1 > limit) {
    depot_.give(home_of(&cache), std::span(slots).subspan(limit + 1, count - limit - 1));
    count = limit + 1;
  }
  if (count_drawn(&cache, count)) [[unlikely]] {
    mark_use(&cache, count - 1);
  }
  const std::span<slot_cache::cell> cells = cache.cells();
  for (std::uint32_t i = 0; i + 1 < count; ++i) {
    // relaxed: published when the cache opens
    cells[i].store(slots_.address_of(slots[i]), std::memory_order_relaxed);
  }
  cache.open(kind_, count - 1, limit);
  end_event(traced_act::refill, begin, count);
  return slots_.address_of(slots[count - 1]);
}

/// Adapts the limit of the cache after a settled operation, gives surplus slots to the depot, and
/// opens or closes the cache.
void allocator_state::resume(owned_cache& cache, const slot_cache::settled& found) noexcept {
  std::uint32_t count = found.count;
  if (found.contested) {
    // This operation has cancelled a theft. The thief would return at once, so half of the slots go
    // to the depot, where the thief finds them.
    count = flush(cache, count, count / 2);
  }
  const bool robbed = found.robbed && !cache.forget_restart();
  const bool shrinks = found.contested || robbed;
  if (!cache.limit.closed() && shrinks) {
    cache.limit.shrink(scarcity());
  } else if (!cache.limit.closed() && count > cache.limit.slots()) {
    cache.limit.grow(limit_for(cache));
  }
  const bool flushes = !cache.limit.closed() && !shrinks && count > cache.limit.slots();
  if (flushes && !std::exchange(cache.last_was_flush, true)) {
    mark_burst(cache);
  }
  const std::uint32_t limit = cache.limit.slots();
  if (count > limit) {
    count = flush(cache, count, limit / 8);
  }
  if (limit == 0) {
    cache.close();
  } else {
    cache.open(kind_, count, limit);
  }
}

/// Gives the oldest slots of a busy cache to the depot, in whole magazines if there are enough
/// slots. Keeps at least `keep` slots, and returns how many are left. The newest slots stay,
/// because their memory is still warm.
std::uint32_t allocator_state::flush(owned_cache& cache, std::uint32_t count,
                                     std::uint32_t keep) noexcept {
  LIDO_ASSERT(keep <= count, "a flush that keeps more slots than there are");
  const std::int64_t begin = begin_event();
  std::uint32_t surplus = count - keep;
  if (surplus > magazine_size && keep > 0) {
    surplus -= surplus % magazine_size;
  }
  const std::span<slot_cache::cell> cells = cache.cells();
  std::array<void*, most_per_trip> chunk;
  for (std::uint32_t done = 0; done < surplus;) {
    const std::uint32_t size = (std::min)(surplus - done, most_per_trip);
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
    bump(cache.flushes);
    end_event(traced_act::flush, begin, surplus);
  }
  return count - surplus;
}

// ---- past the cache -----------------------------------------------------------------------------

void* allocator_state::refill_steal_or_grow(owned_cache* self) noexcept {
  void* const slot = refill_or_steal(self);
  return slot == nullptr && segments_ != nullptr ? segments_->steal_or_grow() : slot;
}

void* allocator_state::refill_or_steal(owned_cache* self) noexcept {
  void* slot = nullptr;
  const bool found = !proof_.holds() && ((slot = refill_one(self)) != nullptr ||
                                         search(self, &slot) == finding::free_slot);
  if (!found && segments_ == nullptr) {
    // A pool that grows counts an exhaustion only after its growth has failed.
    count_exhausted();
  }
  return slot;
}

void* allocator_state::refill_one(owned_cache* self) noexcept {
  if (const slot_index single = depot_.pop_single(home_of(self)); single != null_slot) {
    if (count_drawn(self, 1)) [[unlikely]] {
      mark_use(self, 0);
    }
    return slots_.address_of(single);
  }
  void* slot = nullptr;
  (void)refill_many(self, {&slot, 1});
  return slot;
}

void allocator_state::release_past_cache(owned_cache* self, void* slot) noexcept {
  if (hand_over(self, slot)) {
    return;
  }
  (void)count_drawn(self, -1);
  depot_.push_single(home_of(self), slots_.index_of(slot));
  proof_.withdraw_after_change();
  serve_waiters(self);
}

/// Takes up to out.size() slots from the depot in one trip.
std::size_t allocator_state::refill_many(owned_cache* self, std::span<void*> out) noexcept {
  if (depot_.empty()) {
    // Returns before this thread marks itself as carrying, since other threads would wait in vain
    // for a thread with that mark.
    return 0;
  }
  std::array<slot_index, most_per_trip> slots;
  const auto want = static_cast<std::uint32_t>(std::min<std::size_t>(out.size(), most_per_trip));
  // relaxed: the release half of the pop makes the mark visible to every thread that sees the slots
  // missing from the depot
  carrying_.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t count = depot_.take(home_of(self), slots, want);
  const std::uint32_t taken = (std::min)(count, want);
  depot_.give(home_of(self), std::span(slots).subspan(taken, count - taken));
  // (1) - this release-fetch-sub synchronizes-with the acquire-load theft.cpp (2), so a thread that
  // sees that no thread carries slots also sees the carried slots in the depot
  carrying_.fetch_sub(1, std::memory_order_release);
  if (count_drawn(self, taken)) [[unlikely]] {
    mark_use(self, 0);
  }
  for (std::uint32_t i = 0; i < taken; ++i) {
    out[i] = slots_.address_of(slots[i]);
  }
  if (count > taken) {
    // The call is needed for its fence, although there is rarely a proof to withdraw.
    proof_.withdraw_after_change();
    serve_waiters(self);
  }
  return taken;
}

/// Stores any number of slots in the depot.
void allocator_state::give(owned_cache* self, std::span<void* const> slots) noexcept {
  (void)count_drawn(self, -static_cast<std::int64_t>(slots.size()));
  std::array<slot_index, most_per_trip> indices;
  while (!slots.empty()) {
    const std::size_t size = std::min<std::size_t>(slots.size(), most_per_trip);
    std::transform(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(size),
                   indices.begin(), [this](const void* slot) { return slots_.index_of(slot); });
    depot_.give(home_of(self), std::span(indices).first(size));
    proof_.withdraw_after_change();
    slots = slots.subspan(size);
  }
}

/// Adds `news` to the pool's sum of drawn slots, and returns what `count_drawn` returns. A thread
/// stops reporting once the high-water mark is so high that no report needs to raise it.
// relaxed (whole function): counters that order nothing
bool allocator_state::report_drawn(owned_cache* self, std::int64_t news) noexcept {
  const bool is_enough = high_water_.load(std::memory_order_relaxed) >= enough_;
  std::int64_t late = 0;
  if (self != nullptr) {
    self->reported += news;
    self->more_unreported = is_enough ? (std::numeric_limits<std::int32_t>::max)() : 0;
  } else {
    drawn_uncached_.fetch_add(news, std::memory_order_relaxed);
    // A thread without a cache reports each slot. It should still cause counts of the slots in use
    // no more often than other threads.
    late = most_unreported_ - 1;
  }
  if (is_enough) {
    return false;
  }
  const std::int64_t out = out_.fetch_add(news, std::memory_order_relaxed) + news;
  return news > 0 && out > counted_out_.load(std::memory_order_relaxed) + late;
}

// ---- many at once -------------------------------------------------------------------------------

std::size_t allocator_state::acquire_n(std::span<void*> out) noexcept {
  std::size_t count = acquire_n_without_growth(out);
  while (count < out.size() && segments_ != nullptr) {
    out[count] = segments_->steal_or_grow();
    if (out[count] == nullptr) {
      break;
    }
    ++count;
    count += acquire_n_without_growth(out.subspan(count));
  }
  count_misses(own_cache(), count + (count < out.size() ? 1 : 0));
  return count;
}

std::size_t allocator_state::acquire_n_without_growth(std::span<void*> out) noexcept {
  LIDO_ASSERT(!is_restarting(), "a destructor that release_all calls uses the pool");
  (void)assign_thread_number();
  owned_cache* const self = own_cache();
  std::size_t count = self != nullptr && kind_ != lido::cache_kind::none ? hit_many(*self, out) : 0;
  while (count < out.size()) {
    if (const std::size_t taken = refill_many(self, out.subspan(count)); taken > 0) {
      count += taken;
    } else if (void* const slot = refill_or_steal(self); slot != nullptr) {
      out[count++] = slot;
    } else {
      break;
    }
  }
  return count;
}

/// Pops up to out.size() slots from the caller's own cache in one operation.
std::size_t allocator_state::hit_many(owned_cache& cache, std::span<void*> out) noexcept {
  if (forget_operation_if_closed(cache)) {
    return 0;
  }
  slot_cache::settled found = cache.settle(kind_);
  proof_.withdraw_after_change();
  const std::span<slot_cache::cell> cells = cache.cells();
  std::size_t count = 0;
  while (count < out.size() && found.count > 0) {
    // relaxed: written by this thread alone
    out[count++] = cells[--found.count].load(std::memory_order_relaxed);
  }
  resume(cache, found);
  close_for_waiters(cache);
  return count;
}

void allocator_state::release_n(std::span<void* const> slots) noexcept {
  LIDO_ASSERT(!is_restarting(), "a destructor that release_all calls uses the pool");
  (void)assign_thread_number();
  owned_cache* const self = own_cache();
  const bool cached = self != nullptr && kind_ != lido::cache_kind::none && !self->limit.closed();
  // Slots that fill whole trips go directly to the depot. The rest goes through the cache, so that
  // the cache stays warm.
  const std::size_t rest = cached ? slots.size() % most_per_trip : 0;
  if (const std::span whole = slots.first(slots.size() - rest); !whole.empty()) {
    give(self, whole);
    serve_waiters(self);
  }
  if (!cached) {
    return;  // there is no rest
  }
  for (void* const slot : slots.last(rest)) {
    if (kind_ == lido::cache_kind::locked ? !self->push_locked(slot, self->limit.slots())
                                          : !self->push(slot)) {
      settle_release(*self, slot);
    }
  }
}

// ---- slots added and removed --------------------------------------------------------------------

/// Adds the slots from `first` to `last` - 1, and returns the first slot, which the caller keeps.
/// The capacity and the counters change before the other slots are added, so that they always cover
/// all slots in use.
void* allocator_state::add_keeping_first(slot_index first, slot_index last) noexcept {
  owned_cache* const self = own_cache();
  // (2) - this release-fetch-add synchronizes-with the acquire-load allocator_state.hpp (1), so a
  // thread that sees the new capacity also sees that the capacity is being changed
  capacity_.fetch_add(last - first, std::memory_order_release);
  (void)count_drawn(self, 1);
  depot_.add(first + 1, last);
  proof_.withdraw_after_change();
  serve_waiters(self);
  return slots_.address_of(first);
}

void allocator_state::give_back(std::span<const slot_index> slots) noexcept {
  depot_.give({}, slots);
  proof_.withdraw_after_change();
  serve_waiters(own_cache());
}

void allocator_state::remove(std::uint32_t slots) noexcept {
  // relaxed: no thread draws conclusions from a capacity below the maximum. A thread that increases
  // the capacity locks `resize_` of segment_table first
  [[maybe_unused]] const auto before = capacity_.fetch_sub(slots, std::memory_order_relaxed);
  LIDO_ASSERT(before >= slots, "more slots are removed than a pool has");
}

}  // namespace lido::inline v0::detail
