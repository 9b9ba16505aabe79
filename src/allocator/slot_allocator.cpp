// Implements the table of caches: when a pool gets its own table, and what happens to the caches of
// threads that no longer exist.
#include "lido/allocator/slot_allocator.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "../platform/platform.hpp"
#include "allocator_state.hpp"
#include "growth.hpp"
#include "lido/base/address_space.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/tuning.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/platform/compiler.hpp"
#include "slot_set.hpp"
#include "spare_tables.hpp"

namespace lido::inline v0::detail {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-*,modernize-avoid-c-arrays)
alignas(thread_stride) constinit std::byte unused_caches[cache_table_bytes] = {};

// ---- slot_allocator -----------------------------------------------------------------------------

namespace {

allocator_state* make_state(const allocator_options& options, atomic<std::byte*>& table) {
  if (options.memory == nullptr) {
    return new allocator_state(options, table);
  }
  const allocator_state::tables in =
      allocator_state::take_tables(*options.memory, options.capacity, options.name.size(),
                                   options.visits_free, options.visits_used);
  return ::new (in.state) allocator_state(options, table, in);
}

}  // namespace

slot_allocator::slot_allocator(const allocator_options& options)
    : table_(std::begin(unused_caches)), state_(make_state(options, table_)) {}

void slot_allocator::take_tables(memory_cursor& memory, std::uint32_t capacity,
                                 std::size_t name_size, bool visits_free,
                                 bool visits_used) noexcept {
  (void)allocator_state::take_tables(memory, capacity, name_size, visits_free, visits_used);
}

/// Checks that the caller uses the copy of the library that created the pool, and returns the
/// state. Hits need no check, because a thread of another copy never has a hit; see number_ranges.
/// All other functions that acquire or release slots call this function.
allocator_state& slot_allocator::state() const noexcept {
  require_own_copy(*state_);
  return *state_;
}

slot_allocator::~slot_allocator() {
  if (allocator_state& own = state(); own.is_placed()) {
    std::destroy_at(&own);
  } else {
    delete &own;
  }
}

namespace {

// If ThreadSanitizer does not watch the library, these functions tell it how slots pass between
// threads. `received` says that the caller continues after the last thread that held the slot.
// `give_away` says that the caller has finished using the slots.

void* received(const allocator_state& state, void* slot) noexcept {
  if (state.is_watched() && slot != nullptr) [[unlikely]] {
    platform::tell_acquire(slot);
  }
  return slot;
}

std::size_t received(const allocator_state& state, std::span<void* const> slots) noexcept {
  for (std::size_t i = 0; state.is_watched() && i < slots.size(); ++i) {
    platform::tell_acquire(slots[i]);
  }
  return slots.size();
}

void give_away(const allocator_state& state, std::span<void* const> slots) noexcept {
  for (std::size_t i = 0; state.is_watched() && i < slots.size(); ++i) {
    platform::tell_release(slots[i]);
  }
}

// These are separate functions, so that the two functions below consist only of a test and a jump.
// All misses in caches pass through the two functions below.

[[LIDO_SLOW_PATH, LIDO_COLD]] void* acquire_watched(allocator_state& state,
                                                    std::size_t offset) noexcept {
  return received(state, state.acquire_after_miss(offset));
}

[[LIDO_SLOW_PATH, LIDO_COLD]] void release_watched(allocator_state& state, std::size_t offset,
                                                   void* slot) noexcept {
  platform::tell_release(slot);
  state.release_after_miss(offset, slot);
}

}  // namespace

void* slot_allocator::acquire_after_miss() noexcept {
  const std::size_t offset = own_thread_offset();
  if (offset == 0) [[unlikely]] {
    return acquire_without_number();
  }
  require_own_copy(*state_);  // as in `state`
  return state_->is_watched() ? acquire_watched(*state_, offset)
                              : state_->acquire_after_miss(offset);
}

void slot_allocator::release_after_miss(void* slot) noexcept {
  const std::size_t offset = own_thread_offset();
  if (offset == 0) [[unlikely]] {
    return release_without_number(slot);
  }
  require_own_copy(*state_);  // as in `state`
  return state_->is_watched() ? release_watched(*state_, offset, slot)
                              : state_->release_after_miss(offset, slot);
}

void* slot_allocator::acquire_without_number() noexcept {
  if (assign_thread_number()) {
    return acquire();
  }
  allocator_state& own = state();
  return received(own, own.acquire_without_cache());
}

void slot_allocator::release_without_number(void* slot) noexcept {
  if (assign_thread_number()) {
    return release(slot);
  }
  allocator_state& own = state();
  give_away(own, {&slot, 1});
  own.release_past_cache(nullptr, slot);
}

bool slot_allocator::prepare() noexcept {
  return state().own_table() != nullptr;
}

std::size_t slot_allocator::acquire_n(std::span<void*> out) noexcept {
  allocator_state& own = state();
  return received(own, out.first(own.acquire_n(out)));
}

std::size_t slot_allocator::acquire_n_without_growth(std::span<void*> out) noexcept {
  allocator_state& own = state();
  return received(own, out.first(own.acquire_n_without_growth(out)));
}

void slot_allocator::release_n(std::span<void* const> given) noexcept {
  allocator_state& own = state();
  give_away(own, given);
  own.release_n(given);
}

void* slot_allocator::wait_for_slot(slot_waiter& me, const deadline& until) noexcept {
  allocator_state& own = state();
  return received(own, own.wait_for_slot(me, until));
}

void slot_allocator::visit_free(free_slot_visitor& visitor) noexcept {
  state().visit_free(visitor);
}

void slot_allocator::restart(used_slot_visitor* visitor) {
  state().restart(visitor);
}

std::size_t slot_allocator::count_waiting() const noexcept {
  return state().count_waiting();
}

std::uint32_t slot_allocator::capacity() const noexcept {
  return state().capacity();
}

slot_pool_stats slot_allocator::stats(bool counts_hits) const noexcept {
  return state().stats(counts_hits);
}

std::size_t slot_allocator::bytes_needed(std::uint32_t capacity, std::size_t stride, bool grows,
                                         const shared_list* list, bool visits_free) noexcept {
  const std::size_t fixed = sizeof(slot_allocator) + sizeof(allocator_state) +
                            depot::bytes_needed(capacity, list, visits_free);
  return grows ? fixed + segment_table::bytes_needed({stride, capacity, page_size()}) : fixed;
}

std::uint64_t slot_allocator::count_exhausted() const noexcept {
  return state().times_exhausted();
}

std::string_view slot_allocator::name() const noexcept {
  const pool_origin& origin = *state_;
  return {origin.name, origin.name_size};
}

// A thread that takes few slots takes single ones; other threads take magazines. Both kinds of
// threads should begin with low slots. So half of the slots in the lowest eighth of the pool are
// given back in half magazines, which the depot stores as single slots. That leaves enough
// magazines for all higher slots (depot I3).
void slot_allocator::put_low_slots_first() noexcept {
  const std::uint32_t slots = capacity();
  [[maybe_unused]] std::size_t free = 0;
  state().collect([&](std::span<const slot_index> some) noexcept { free += some.size(); });
  LIDO_ASSERT(free == slots, "slots are put in order while some are in use");
  std::array<slot_index, magazine_size> chunk;
  for (std::uint32_t end = slots; end != 0;) {
    const bool single = end < slots / 8 && end / magazine_size % 2 == 0;
    const std::uint32_t count = (std::min)(end, single ? magazine_size / 2 : magazine_size);
    std::generate_n(chunk.begin(), count, [&end] { return --end; });
    state().give_back(std::span(chunk).first(count));
  }
}

int slot_allocator::reserve(std::uint32_t count, segment_fill* fill) {
  LIDO_ASSERT(state().segments() != nullptr, "a pool that cannot grow is to grow");
  return state().segments()->reserve(count, fill);
}

std::uint32_t slot_allocator::shrink_to(std::uint32_t count) noexcept {
  LIDO_ASSERT(state().segments() != nullptr, "a pool that cannot grow is to shrink");
  return state().segments()->shrink_to(count);
}

int slot_allocator::growth_error() const noexcept {
  return state().segments()->growth_error();
}

// ---- allocator_state: beginning and end ---------------------------------------------------------

namespace {

lido::cache_kind usable_kind(const allocator_options& options) noexcept {
  if ((std::min)(options.capacity / 2, options.max_cached) < cache_limit::smallest) {
    return lido::cache_kind::none;
  }
  return options.caches == lido::cache_kind::revocable && !heavy_fence_available()
             ? lido::cache_kind::locked
             : options.caches;
}

}  // namespace

namespace {

/// Returns the high-water mark at which threads stop reporting. In a pool of fixed capacity, that
/// mark is below the capacity by at most one refill of a cache, so threads that often take nearly
/// all slots seldom report. A pool that grows has no such mark.
std::size_t enough_for(const allocator_options& options) noexcept {
  const std::size_t capacity = options.capacity;
  if (options.segments != nullptr) {
    return (std::numeric_limits<std::size_t>::max)();
  }
  return capacity - (capacity < 64 ? 0 : std::min<std::size_t>(capacity / 4, magazine_size));
}

}  // namespace

allocator_state::tables allocator_state::take_tables(memory_cursor& memory, std::uint32_t capacity,
                                                     std::size_t name_size, bool visits_free,
                                                     bool visits_used) noexcept {
  static_assert(alignof(allocator_state) <= cache_line);
  static_assert(sizeof(allocator_state) % alignof(slot_set::word) == 0,
                "the set must directly follow the state");
  void* const state = memory.take(sizeof(allocator_state), alignof(allocator_state));
  if (visits_used) {
    (void)memory.take(slot_set::bytes_needed(capacity), alignof(slot_set::word));
  }
  const depot::tables of_depot = depot::take_tables(memory, capacity, visits_free);
  void* const characters = memory.take(name_size, alignof(char));
  return {state, static_cast<char*>(characters), of_depot};
}

allocator_state::allocator_state(const allocator_options& options, atomic<std::byte*>& table)
    : allocator_state(options, table, nullptr) {}

allocator_state::allocator_state(const allocator_options& options, atomic<std::byte*>& table,
                                 const tables& in) noexcept
    : allocator_state(options, table, &in) {
  LIDO_ASSERT(options.segments == nullptr && options.list == nullptr,
              "a pool in memory of the program grows, or has another list");
}

allocator_state::allocator_state(const allocator_options& options, atomic<std::byte*>& table,
                                 const tables* in)
    : pool_origin{&thread_numbers, nullptr, 0},
      slots_(options.geometry),
      unused_(std::begin(unused_caches)),
      capacity_(options.segments == nullptr ? options.capacity : 0),
      max_cached_((std::min)(options.max_cached, slot_cache::most_items)),
      is_watched_(platform::is_watched_from_outside()),
      kind_(is_watched_ ? lido::cache_kind::none : usable_kind(options)),
      has_set_(in != nullptr && options.visits_used),
      hidden_table_(unused_),
      table_(takes_hits() ? table : hidden_table_),
      own_name_(in != nullptr ? std::string_view() : options.name),
      is_placed_(in != nullptr),
      may_wait_(options.may_wait),
      most_unreported_(tuning::most_unreported(options.capacity)),
      fresh_reach_(static_cast<std::uint32_t>(tuning::fresh_bytes / options.geometry.stride())),
      enough_(enough_for(options)),
      depot_(in != nullptr ? depot(options.capacity, in->of_depot)
                           : depot(options.capacity,
                                   options.segments == nullptr ? growth::none : growth::by_steps,
                                   options.list, options.visits_free)) {
  LIDO_ASSERT(options.capacity >= 1 && options.capacity <= max_capacity,
              "a pool of no slots, or of more than have an index");
  if (options.segments != nullptr) {
    segments_ = std::make_unique<segment_table>(*this, *options.segments, options.geometry.stride(),
                                                options.capacity);
  }
  if (!takes_hits() && no_thread_offset != 0) {
    // relaxed: as in slot_allocator::own_cache
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast,performance-no-int-to-ptr)
    table.store(reinterpret_cast<std::byte*>(no_thread_offset), std::memory_order_relaxed);
  }
  if (is_placed_) {
    (void)options.name.copy(in->name, options.name.size());
  }
  name = is_placed_ ? in->name : own_name_.data();
  name_size = options.name.size();
  // Takes a spare table here, and not when a thread first uses the pool. Nothing orders what
  // threads see of a table that is set later, so that table must consist of zeros that no thread
  // has written. A spare table was written by other threads.
  if (std::byte* const spare = tuning::most_cleared == 0 ? nullptr : spares.take()) {
    // relaxed: no other thread knows the pool while it is being constructed
    table_.store(spare, std::memory_order_relaxed);
  }
  register_listener();
}

allocator_state::~allocator_state() {
  if (timer_ != nullptr) {
    timer_->stop();
  }
  unregister_listener();
  // relaxed (2x): no thread uses the pool any more
  for (cell_block* block = blocks_.load(std::memory_order_relaxed); block != nullptr;) {
    std::free(std::exchange(block, block->next));  // NOLINT(cppcoreguidelines-no-malloc)
  }
  if (std::byte* const table = table_.load(std::memory_order_relaxed);
      table != unused_ && !(clear_table() && spares.put(table))) {
    platform::unmap_zeros(table, cache_table_bytes);
  }
}

// ---- the table ----------------------------------------------------------------------------------

/// Returns this pool's own table. The first thread that needs the table maps it. Returns null if
/// there is no memory.
// relaxed (whole function): the memory of a table is zeros, which no thread has written
std::byte* allocator_state::own_table() noexcept {
  std::byte* table = table_.load(std::memory_order_relaxed);
  if (table != unused_) {
    return table;
  }
  auto* const mine = static_cast<std::byte*>(platform::map_zeros(cache_table_bytes));
  if (const std::size_t offset = own_thread_offset(); mine != nullptr && offset != 0) {
    // Overwrites a zero with a zero, so that the first access to the page is a write: a page that
    // is first read and then written costs two page faults.
    entry_in(mine, offset).forget_operation();
  }
  if (mine != nullptr && !table_.compare_exchange_strong(table, mine, std::memory_order_relaxed,
                                                         std::memory_order_relaxed)) {
    platform::unmap_zeros(mine, cache_table_bytes);
    return table;
  }
  return mine;
}

/// Clears the table for another pool. Returns false if threads have used too many entries. Cells
/// may keep their content, since an owner writes each cell before the cell counts as filled.
bool allocator_state::clear_table() noexcept {
  if (highest() >= lowest() + tuning::most_cleared) {
    return false;
  }
  for (std::uint32_t number = lowest(); number <= highest(); ++number) {
    std::construct_at(&entry(number));
  }
  return true;
}

// ---- threads that end, or are left behind by a fork ---------------------------------------------

void allocator_state::visit_uses(void (*visit)(thread_use&)) noexcept {
  for (std::uint32_t number = lowest(); number <= highest(); ++number) {
    visit(entry(number).use);
  }
}

void allocator_state::on_thread_exit(std::uint32_t number) noexcept {
  owned_cache& cache = entry(number);
  if (!cache.active) {
    return;
  }
  empty_and_close(cache);
  // relaxed: used only to compute fair shares
  [[maybe_unused]] const auto before = open_caches_.fetch_sub(1, std::memory_order_relaxed);
  LIDO_ASSERT(before != 0, "more caches are closed than were opened");
}

/// Empties a cache, and resets the cache to the state that it has for the first thread with its
/// number.
void allocator_state::empty_and_close(owned_cache& cache) noexcept {
  // If the cache is busy, a fork has left its owner behind, and the content of the cache is
  // unknown.
  if (cache.state().now() != slot_cache::phase::busy) {
    (void)flush(cache, cache.settle(kind_).count, 0);
  }
  cache.close();
  cache.active = false;
  cache.last_was_flush = false;
  (void)cache.forget_restart();
  cache.limit.reset(scarcity());
}

/// Completes the operations that threads missing from the child had begun. Slots that these threads
/// were moving are lost to this process, whether they count as in use or as free. Any thread can
/// find all other slots, and no thread waits for a missing thread. Forgets the proof of exhaustion,
/// since a missing thread may have released a slot without having withdrawn the proof yet.
// relaxed (whole function): there is only one thread
void allocator_state::on_fork(std::uint32_t survivor) noexcept {
  for (std::uint32_t number = lowest(); number <= highest(); ++number) {
    owned_cache& cache = entry(number);
    const bool left_behind = cache.active || cache.state().now() != slot_cache::phase::frozen;
    if (number != survivor && left_behind) {
      empty_and_close(cache);
    }
  }
  carrying_.store(0, std::memory_order_relaxed);
  visiting_.store(0, std::memory_order_relaxed);
  ++forks_;
  proof_.forget();
  waiters_.forget_all();
  if (callback_timer* const timer = std::exchange(timer_, nullptr)) {
    timer->note_fork();
  }
  open_caches_.store(entry(survivor).active ? 1 : 0, std::memory_order_relaxed);
}

// ---- statistics ---------------------------------------------------------------------------------

// relaxed (whole function): a number for statistics
std::size_t allocator_state::raise_high_water(std::size_t seen) const noexcept {
  std::size_t before = high_water_.load(std::memory_order_relaxed);
  while (before < seen && !high_water_.compare_exchange_weak(
                              before, seen, std::memory_order_relaxed, std::memory_order_relaxed)) {
  }
  return (std::max)(before, seen);
}

namespace {

/// The number of slots that the owner of a cache has drawn from the depot, and the number of free
/// slots in the cells of the cache.
struct tally {
  std::int64_t drawn;
  std::size_t cached;
};

/// Counts the slots of one cache. Returns nothing if the owner makes a trip or a thief is at work
/// meanwhile, since slots on the move may be missed or counted twice. Hits do no harm, because they
/// can be distinguished from trips. A locked cache is busy during a hit, too, but its `taken` is
/// then 1.
// relaxed (whole function): numbers for statistics
std::optional<tally> try_tally(const owned_cache& cache, lido::cache_kind kind) noexcept {
  const auto trips = [&cache] {
    return cache.refills.load(std::memory_order_relaxed) +
           cache.flushes.load(std::memory_order_relaxed);
  };
  const auto moves = [](slot_cache::control now) {
    return now.now() == slot_cache::phase::busy && now.taken() == 0;
  };
  const std::uint64_t trips_before = trips();
  const slot_cache::control before = cache.state();
  const bool frozen = before.now() == slot_cache::phase::frozen;
  const tally found{cache.drawn.load(std::memory_order_relaxed),
                    frozen ? 0 : cache.visible_count(kind)};
  const slot_cache::control after = cache.state();
  const bool settled = !moves(before) && !moves(after) &&
                       frozen == (after.now() == slot_cache::phase::frozen) &&
                       trips() == trips_before;
  return settled ? std::optional(found) : std::nullopt;
}

}  // namespace

/// Counts the slots that have left the depot, and how many of them are in caches other than `self`.
/// `looks` counts the waits for threads that are moving slots. Their number is limited, since such
/// a thread may be stopped. When the limit is reached, slots in the cache of such a thread count as
/// in use, and the result is false. The result is also false if slots that are being carried may
/// have been counted twice.
// relaxed (whole function): numbers for statistics
bool allocator_state::try_count(const owned_cache* self, std::int64_t& drawn, std::size_t& cached,
                                int& looks) const noexcept {
  bool settled = true;
  const std::uint64_t thefts = thefts_.load(std::memory_order_relaxed);
  const bool carried = carrying_.load(std::memory_order_relaxed) != 0;
  drawn = drawn_uncached_.load(std::memory_order_relaxed);
  cached = 0;
  exponential_backoff backoff;
  for (std::uint32_t number = lowest(); number <= highest(); ++number) {
    const owned_cache& cache = entry(number);
    if (&cache == self) {
      drawn += cache.drawn.load(std::memory_order_relaxed);
      continue;
    }
    std::optional<tally> seen = try_tally(cache, kind_);
    for (; !seen.has_value() && looks < tuning::waits_before_nap; seen = try_tally(cache, kind_)) {
      backoff.wait();
      ++looks;
    }
    drawn += seen.has_value() ? seen->drawn : cache.drawn.load(std::memory_order_relaxed);
    cached += seen.has_value() ? seen->cached : 0;
    settled = settled && seen.has_value();
  }
  return settled && !carried && thefts_.load(std::memory_order_relaxed) == thefts &&
         carrying_.load(std::memory_order_relaxed) == 0;
}

/// Raises the high-water mark to the current number of slots in use, unless counting them would
/// require a wait. `unused` is the number of slots that the owner of `self` has drawn but does not
/// use. Requires: `self` is null, or the cache `self` is closed or busy.
// relaxed (whole function): numbers for statistics
void allocator_state::mark_use(const owned_cache* self, std::uint32_t unused) noexcept {
  const std::int64_t out = out_.load(std::memory_order_relaxed);
  std::int64_t drawn = 0;
  std::size_t cached = 0;
  int looks = tuning::waits_before_nap;
  if (!try_count(self, drawn, cached, looks)) {
    return;  // the next trip tries again
  }
  counted_out_.store(out, std::memory_order_relaxed);
  const std::int64_t in_use = drawn - static_cast<std::int64_t>(cached + unused);
  raise_high_water(static_cast<std::size_t>(
      std::clamp<std::int64_t>(in_use, 0, static_cast<std::int64_t>(capacity()))));
}

/// Raises the high-water mark after a burst of one thread. The thread took slots from the depot,
/// and now has more slots than its cache may contain; meanwhile, it may have used all of them at
/// the same time. Has an effect only if this burst is higher than the bursts marked before.
void allocator_state::mark_burst(owned_cache& cache) noexcept {
  // relaxed: written by this thread alone
  const std::int64_t drawn = cache.drawn.load(std::memory_order_relaxed);
  if (drawn >= cache.most_drawn + most_unreported_) {
    cache.most_drawn = drawn;
    mark_use(&cache, 0);
  }
}

// relaxed (whole function): used only for statistics
std::uint64_t allocator_state::add_caches_to(slot_pool_stats& stats) const noexcept {
  std::uint64_t hits = 0;
  for (std::uint32_t number = lowest(); number <= highest(); ++number) {
    const owned_cache& cache = entry(number);
    hits += cache.hits();
    stats.slow_acquires += cache.misses.load(std::memory_order_relaxed);
    stats.refills += cache.refills.load(std::memory_order_relaxed);
    stats.flushes += cache.flushes.load(std::memory_order_relaxed);
    stats.bookkeeping_bytes += cache.cells().empty() ? 0 : thread_stride;
  }
  return hits;
}

// relaxed (whole function): used only for statistics
slot_pool_stats allocator_state::stats(bool counts_hits) const noexcept {
  slot_pool_stats stats;
  std::int64_t drawn = 0;
  exponential_backoff backoff;
  for (int looks = 0;
       !try_count(nullptr, drawn, stats.cached, looks) && looks < tuning::waits_before_nap;
       ++looks) {
    backoff.wait();
  }
  stats.slow_acquires = misses_uncached_.load(std::memory_order_relaxed);
  const std::uint64_t hits = add_caches_to(stats);
  if (counts_hits || kind_ != lido::cache_kind::revocable) {
    stats.acquires = stats.slow_acquires + hits;
    stats.hits = hits;
  }
  stats.capacity = this->capacity();
  const auto capacity = static_cast<std::int64_t>(stats.capacity);
  drawn -= static_cast<std::int64_t>(stats.cached);
  stats.in_use = static_cast<std::size_t>(std::clamp<std::int64_t>(drawn, 0, capacity));
  stats.idle = stats.capacity - stats.in_use;
  stats.cached = (std::min)(stats.cached, stats.idle);
  stats.live = stats.in_use;
  stats.caches = kind_;
  stats.open_caches = open_caches_.load(std::memory_order_relaxed);
  stats.thefts = thefts_.load(std::memory_order_relaxed);
  stats.heavy_fences = heavy_fences_.load(std::memory_order_relaxed);
  stats.waiting = count_waiting();
  stats.handed_over = handed_over_.load(std::memory_order_relaxed);
  stats.exhausted = times_exhausted();
  stats.refused = may_wait_ ? ended_waits_.load(std::memory_order_relaxed) : stats.exhausted;
  stats.high_water = raise_high_water(stats.in_use);
  depot_.add_to(stats);
  stats.bookkeeping_bytes += sizeof(slot_allocator) + sizeof(*this) + depot_.memory() +
                             grown_bytes_.load(std::memory_order_relaxed);
  if (segments_ != nullptr) {
    segments_->add_to(stats);
  }
  stats.total_bytes = stats.capacity * slots_.stride() + stats.bookkeeping_bytes;
  return stats;
}

}  // namespace lido::inline v0::detail
