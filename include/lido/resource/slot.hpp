/// @file
/// Internal. A slot for one resource: its state, its ages, and its holder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "lido/base/assert.hpp"
#include "lido/base/deadline_heap.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/debug/code_address.hpp"
#include "lido/resource/factory.hpp"
#include "lido/resource/options.hpp"

namespace lido::inline v0::detail {

class factory_hooks;
class idle_cache;
struct position_chunk;

/// The states of a slot: empty -> creating -> in_use <-> idle -> checking -> idle; in_use, idle or
/// checking -> closing -> empty. If a create fails, its slot moves from creating to empty. If a
/// resource is detached, its slot moves from in_use to empty.
enum class resource_state : std::uint8_t { empty, creating, idle, in_use, checking, closing };

/// The state, mark, turn and birth of a slot in one word, so that they change together. The turn
/// identifies a use of the slot; the birth identifies the resource in the slot.
class slot_word {
 public:
  constexpr slot_word() noexcept = default;
  constexpr explicit slot_word(std::uint64_t bits) noexcept : bits_(bits) {}
  /// Returns the word of an empty slot whose last resource had the birth `birth`.
  [[nodiscard]] static constexpr slot_word of_birth(std::uint32_t birth) noexcept {
    return slot_word(std::uint64_t{birth} << birth_shift);
  }

  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] constexpr resource_state state() const noexcept {
    return static_cast<resource_state>(bits_ & state_mask);
  }
  /// Returns true if the release of this use has to notify the kernel.
  [[nodiscard]] constexpr bool marked() const noexcept { return (bits_ & mark_bit) != 0; }
  [[nodiscard]] constexpr std::uint64_t birth() const noexcept { return bits_ >> birth_shift; }

  /// Returns the word with the state `state` and without a mark.
  [[nodiscard]] constexpr slot_word in(resource_state state) const noexcept {
    return slot_word((bits_ & ~(state_mask | mark_bit)) | static_cast<std::uint64_t>(state));
  }
  [[nodiscard]] constexpr slot_word with_mark() const noexcept {
    return slot_word(bits_ | mark_bit);
  }
  [[nodiscard]] constexpr slot_word with_next_turn() const noexcept {
    constexpr std::uint64_t turn_mask = (one_birth - 1) & ~(one_turn - 1);
    return slot_word((bits_ & ~turn_mask) | ((bits_ + one_turn) & turn_mask));
  }
  [[nodiscard]] constexpr slot_word with_next_birth() const noexcept {
    return slot_word(bits_ + one_birth);
  }
  friend constexpr bool operator==(slot_word, slot_word) noexcept = default;

 private:
  static constexpr std::uint64_t state_mask = 7;
  static constexpr std::uint64_t mark_bit = 8;
  static constexpr std::uint64_t one_turn = 16;
  static constexpr unsigned birth_shift = 28;
  static constexpr std::uint64_t one_birth = std::uint64_t{1} << birth_shift;

  std::uint64_t bits_ = 0;
};

/// What the task of a slot does. A slot has at most one task.
enum class slot_task : std::uint8_t { none, create, validate, reset };

/// How a resource is reset. `at_once` means that the release itself calls a reset function that is
/// noexcept.
enum class reset_way : std::uint8_t { not_at_all, at_once, with_time };

/// Why a resource in use has to stay in its slot. `interrupt`: the hook is being called, so the
/// resource is not destroyed yet. `detach`: the user is moving the resource out, so no hook is
/// called for it.
enum class slot_pin : std::uint8_t { none, interrupt, detach };

class pool_slot;

/// A validation or a reset of a resource.
struct slot_check {
  std::int64_t began_at = 0;  ///< real time
  bool is_awaited = false;    ///< the check is in progress, and its answer is not overdue
  bool is_keepalive = false;  ///< a validation that no waiter needs
};

/// What the kernel knows about a slot. Protected by the pool's mutex.
struct pool_slot_record {
  idle_cache* cache = nullptr;      ///< the cache of the slot's group
  position_chunk* chunk = nullptr;  ///< the chunk that contains the slot's bit
  std::uint64_t bit = 0;
  slot_task task = slot_task::none;
  pool_slot* next_task = nullptr;
  destroy_reason reason = destroy_reason::closed;  ///< why the slot is closing
  bool is_killed = false;                          ///< to be destroyed when it is not in use
  std::uint8_t reported = 0;   ///< 1 if the lease was reported as slow, 2 if as a leak
  bool is_kept = false;        ///< being created by the thread that will use it
  bool is_for_urgent = false;  ///< being created by a thread that may use the reserve
  bool is_outdated = false;    ///< its task began before the last flush
  bool is_unproven = false;    ///< being created for a group without a working resource
  bool is_evicted = false;     ///< closing to leave its quota to another group
  slot_check check;
  slot_pin pin = slot_pin::none;
};

/// A value of a slot or a pool that any thread may read at any time. An outdated value does no
/// harm: the value is only a hint, or only appears in a report, or a thread that owns the slot
/// checks it again.
template <class T>
class relaxed {
 public:
  relaxed() noexcept = default;
  explicit relaxed(T value) noexcept : value_(value) {}
  // relaxed (whole function): accesses that need an order get it from the slot's word, (1) and (2)
  [[nodiscard]] T get() const noexcept { return value_.load(std::memory_order_relaxed); }
  // relaxed (whole function): as above
  void set(T value) noexcept { value_.store(value, std::memory_order_relaxed); }

 private:
  atomic<T> value_{};
};

/// The ages of a resource, by the pool's clock. The owner of the slot writes them.
struct resource_ages {
  relaxed<nanos> fresh_until;  ///< time after which a use has to validate the resource first
  relaxed<nanos> expires{never};
  relaxed<nanos> last_used;
  relaxed<nanos> looked_after;  ///< time of the last use or validation
  relaxed<nanos> born;
};

/// The current lease of a resource. The owner of the slot writes it.
struct lease_record {
  static constexpr int kept = (std::numeric_limits<int>::max)();
  static constexpr int unless_kept = -1;

  relaxed<std::uint32_t> thread;  ///< thread that holds the lease; 0: none, or unknown
  /// Number of exceptions that were active when the lease began. `kept`: the lease gives its
  /// resource back however it ends. `unless_kept`: the lease discards its resource however it ends.
  relaxed<int> unwinding;
  relaxed<nanos> held_since{never};  ///< `never`: the resource is on its way to its holder
  relaxed<nanos> use_began;          ///< steady clock, if uses are timed
  relaxed<const void*> address;      ///< code address of the acquire
  relaxed<nanos> quiet_for;          ///< delay of reports; `never`: no reports
  relaxed<bool> resets_by_pool;      ///< the pool's threads reset the resource after the lease
};

/// One slot of a pool.
///
/// A change of state is one compare-and-swap of the whole word. So if two threads attempt
/// conflicting changes, exactly one of them succeeds. Any thread may take an idle slot. In every
/// other state, only the owner changes the slot, except that the kernel may mark it under the
/// pool's mutex. An idle slot has no mark. Functions take the current time as an argument. Only the
/// owner writes the statistics of the slot.
///
/// Memory ordering: what a thread does to a resource in one state is visible in the next state (1,
/// 2). Progress: wait-free, except `mark`, which is lock-free.
class alignas(no_false_sharing) pool_slot {
  atomic<std::uint64_t> word_{0};

 public:
  // Each use touches these members, which share two cache lines with the word.
  relaxed<std::uint64_t> key_hash;  ///< hash of the group's key; set by the kernel at each create
  relaxed<std::uint64_t> hits;      ///< uses of the resource that did not wait in the queue
  relaxed<std::uint64_t> handed;    ///< uses that waited in the queue
  relaxed<std::uint32_t> epoch;  ///< epoch of its create; the resource expires in any later epoch
  relaxed<reset_way> resets;     ///< how a release resets the resource
  resource_ages ages;
  lease_record lease;
  pool_slot_record record;         ///< protected by the mutex, but the owner may read `cache`
  factory_hooks* maker = nullptr;  ///< hooks of the resource or its create; set by the kernel
  std::uint32_t number = 0;        ///< never changes

  pool_slot() noexcept = default;
  pool_slot(const pool_slot&) = delete;
  pool_slot& operator=(const pool_slot&) = delete;
  ~pool_slot() = default;

  [[nodiscard]] slot_word word() const noexcept {
    // (1) - this seq_cst-load synchronizes-with the seq_cst-CAS (2), and is in one total order with
    // it and with slow_path_flags.hpp (1, 2). Once the kernel has set a flag, it sees every
    // resource whose release missed the flag
    return slot_word(word_.load(std::memory_order_seq_cst));
  }
  [[nodiscard]] resource_state state() const noexcept { return word().state(); }
  /// Returns the hook of the heap that the slot may be in.
  [[nodiscard]] explicit operator heap_hook<pool_slot>&() noexcept { return in_heap_; }
  [[nodiscard]] explicit operator const heap_hook<pool_slot>&() const noexcept { return in_heap_; }

  /// Sets the birth that precedes the first one. Requires: no other thread can access the slot yet.
  void count_births_from(std::uint32_t birth) noexcept {
    // relaxed: whatever publishes the slot also publishes this value
    word_.store(slot_word::of_birth(birth).bits(), std::memory_order_relaxed);
  }

  // ---- any thread -------------------------------------------------------------------------------

  /// Moves an idle slot to the state `to`, which is in_use or, if the kernel calls, checking or
  /// closing. Sets `ticket` to the new word. Returns false if the slot is not idle, or if another
  /// thread changes it first.
  [[nodiscard]] bool take(slot_word& ticket, resource_state to = resource_state::in_use) noexcept {
    const slot_word seen = word();
    if (seen.state() != resource_state::idle) {
      return false;
    }
    ticket = seen.with_next_turn().in(to);
    return swap(seen, ticket);
  }

  // ---- the owner --------------------------------------------------------------------------------

  /// Moves the slot from in_use to idle. Returns false if the slot is marked: the kernel then
  /// decides what happens to it.
  [[nodiscard]] bool put_back(slot_word ticket) noexcept {
    return swap(ticket, ticket.in(resource_state::idle));
  }

  // ---- the kernel, under the pool's mutex -------------------------------------------------------

  /// Makes the release of the current use notify the kernel. Returns false if the slot is not in
  /// use.
  [[nodiscard]] bool mark() noexcept {
    for (;;) {
      const slot_word seen = word();
      if (seen.state() != resource_state::in_use) {
        return false;
      }
      if (seen.marked() || swap(seen, seen.with_mark())) {
        return true;
      }
    }
  }

  /// Moves the slot to the state `to`, with a new turn if `to` is in_use. Returns the ticket.
  /// Requires: the slot is neither idle nor used by another thread.
  [[LIDO_ASSERTS]] slot_word move(resource_state to) noexcept {
    const slot_word seen = word();
    LIDO_ASSERT(seen.state() != resource_state::idle, "a slot is moved that any thread may take");
    const slot_word next =
        to == resource_state::in_use ? seen.with_next_turn().in(to) : seen.in(to);
    (void)swap(seen, next);
    return next;
  }

  /// Moves the slot from creating to in_use, with a new resource owned by the caller. `draw`, which
  /// is from [0, 1), decides how much the jitter shortens the lifetime of the resource.
  slot_word activate(nanos now, const life_limits& limits, double draw) noexcept {
    ages.born.set(now);
    ages.expires.set(end_of_life(now, limits, draw));
    hits.set(0);
    handed.set(0);
    lease.resets_by_pool.set(/*value=*/false);
    used_until(now, limits);
    const slot_word seen = word();
    const slot_word ticket = seen.with_next_birth().with_next_turn().in(resource_state::in_use);
    (void)swap(seen, ticket);
    return ticket;
  }

  // ---- ages and the holder: (2) publishes to the next owner what the owner writes ---------------

  /// Records the end of a use at `now`.
  [[LIDO_ASSERTS]] void used_until(nanos now, const life_limits& limits) noexcept {
    ages.last_used.set(now);
    validated(now, limits);
  }
  /// Records a validation at `now`. The resource is then as fresh as after a use, but its idle time
  /// continues.
  [[LIDO_ASSERTS]] void validated(nanos now, const life_limits& limits) noexcept {
    ages.looked_after.set(now);
    const nanos unchecked = later(now, limits.validate_after);
    const nanos end = ages.expires.get();
    ages.fresh_until.set(end < unchecked ? end : unchecked);
  }
  /// Returns the number of uses of the resource, including the current one.
  [[nodiscard]] std::uint64_t uses() const noexcept { return hits.get() + handed.get(); }
  void count_use(bool queued) noexcept {
    relaxed<std::uint64_t>& count = queued ? handed : hits;
    count.set(count.get() + 1);
  }
  /// Returns true if a use at `now` needs no check before it.
  [[nodiscard]] bool is_fresh(nanos now, std::uint32_t of_epoch) const noexcept {
    return now < ages.fresh_until.get() && of_epoch == epoch.get();
  }
  /// Returns true if the resource is too old, or was created before a flush.
  [[nodiscard]] bool is_over(nanos now, std::uint32_t of_epoch) const noexcept {
    return now >= ages.expires.get() || of_epoch != epoch.get();
  }
  /// Records the holder. `active` is the number of exceptions that are unwinding the thread at this
  /// moment.
  void note_holder(nanos now, std::uint32_t by, int active, code_address at) noexcept {
    lease.held_since.set(now);
    lease.thread.set(by);
    lease.unwinding.set(active);
    lease.address.set(at.address);
    lease.quiet_for.set(0);
  }
  /// Records that the resource is on its way to a waiter. `waiting` is the thread of the waiter, or
  /// 0.
  void note_receiver(std::uint32_t waiting) noexcept {
    lease.held_since.set(never);
    lease.thread.set(waiting);
  }
  /// Delays reports of this lease by the duration `by`.
  [[LIDO_ASSERTS]] void extend(nanos by) noexcept {
    lease.quiet_for.set(later(lease.quiet_for.get(), by));
  }
  [[nodiscard]] nanos held_for(nanos now) const noexcept {
    const nanos since = lease.held_since.get();
    return since == never ? 0 : passed_since(since, now);
  }

 private:
  bool swap(slot_word from, slot_word to) noexcept {
    std::uint64_t bits = from.bits();
    // (2) - this seq_cst-CAS synchronizes-with the seq_cst-load (1), so the next owner sees
    // everything that was done to the resource. It is in one total order with slow_path_flags.hpp
    // (1, 2). Either the releasing thread sees the flag or the kernel sees the resource. relaxed on
    // failure: the caller either ignores the new word or reads it again
    return word_.compare_exchange_strong(bits, to.bits(), std::memory_order_seq_cst,
                                         std::memory_order_relaxed);
  }

  heap_hook<pool_slot> in_heap_;
};

/// A slot, and the ticket of its current use.
struct slot_grant {
  pool_slot* slot = nullptr;
  slot_word ticket;
};
// Small enough to be returned in registers. If it were returned through memory, an acquire and its
// release would take 1.5 times as long.
static_assert(sizeof(slot_grant) <= 16);

/// Slots that were allocated together, `stride` bytes apart. The stride is stored because the core
/// of the pool does not know the type R.
struct made_slots {
  std::shared_ptr<void> all;
  void* first;  ///< a pool_slot
  std::size_t stride;
};

/// A function that makes `size` slots for resources of one type R. Throws std::bad_alloc.
using slot_maker = made_slots (*)(std::uint32_t size);

}  // namespace lido::inline v0::detail
