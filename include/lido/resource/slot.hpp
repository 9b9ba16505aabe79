/// @file
/// Internal. A place for one resource: its state, its age, and its holder.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/debug/place.hpp"
#include "lido/resource/deadline_heap.hpp"
#include "lido/resource/factory.hpp"
#include "lido/resource/limits.hpp"

namespace lido::detail {

class factory_hooks;
class idle_cache;

/// empty -> creating -> in_use <-> idle -> checking -> idle; in_use, idle or checking -> closing ->
/// empty. A failed create goes from creating to empty, a detached resource from in_use to empty.
enum class resource_state : std::uint8_t { empty, creating, idle, in_use, checking, closing };

/// State, mark, turn (which use of the slot this is) and birth (which resource is in the slot) in
/// one word, so that they change together.
class slot_word {
 public:
  constexpr slot_word() noexcept = default;
  constexpr explicit slot_word(std::uint64_t bits) noexcept : bits_(bits) {}

  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] constexpr resource_state state() const noexcept {
    return static_cast<resource_state>(bits_ & state_mask);
  }
  /// The release of this use takes the slow path.
  [[nodiscard]] constexpr bool marked() const noexcept { return (bits_ & mark_bit) != 0; }
  [[nodiscard]] constexpr std::uint64_t birth() const noexcept { return bits_ >> birth_shift; }

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

/// What a slot's task does; a slot has at most one.
enum class slot_task : std::uint8_t { none, create, validate, reset };

class pool_slot;

/// What the kernel knows about a slot. Under the pool's mutex.
struct pool_slot_record {
  idle_cache* cache = nullptr;  ///< of the slot's group
  std::uint32_t position = 0;   ///< in the group
  slot_task task = slot_task::none;
  pool_slot* next_task = nullptr;
  destroy_reason reason = destroy_reason::closed;  ///< of a slot that is closing
  bool is_killed = false;                          ///< ends as soon as it is not in use
  std::uint8_t reported = 0;                       ///< this lease: 1 as slow, 2 as a suspected leak
  bool is_kept = false;                            ///< being created by the thread that will use it
  bool is_outdated = false;                        ///< its task was begun before the last flush
  bool is_unproven = false;  ///< the create of a group without a working resource
  bool is_evicted = false;   ///< closing, to give room to another group
  nanos task_began = 0;      ///< of a validation, in real time
  // Of a validation, in the order in which they began.
  pool_slot* older = nullptr;
  pool_slot* newer = nullptr;
  bool is_listed = false;
  nanos seen_use = 0;  ///< the last use that the kernel knows of, in a pool with several groups
};

/// One slot of a pool.
///
/// A change of state is one compare-and-swap of the whole word, so of two threads that want
/// different things exactly one gets it. An idle slot may be taken by any thread; a slot in another
/// state is changed only by its owner, or marked under the pool's mutex. An idle slot has no mark.
/// Times are arguments.
///
/// Memory ordering: what was done to a resource in one state is visible in the next (1, 2).
/// Progress: wait-free, except `mark`, which is lock-free.
class alignas(no_false_sharing) pool_slot : public heap_hook<pool_slot> {
  // What each use touches, in two cache lines.
  atomic<std::uint64_t> word_{0};
  atomic<std::uint64_t> key_hash_{0};
  atomic<nanos> fresh_until_{0};
  atomic<nanos> expires_{never};
  atomic<std::uint64_t> uses_{0};
  atomic<std::uint32_t> epoch_{0};
  atomic<std::uint32_t> thread_{0};
  atomic<int> unwinding_{0};
  atomic<bool> resets_by_pool_{false};
  atomic<nanos> last_used_{0};
  atomic<nanos> looked_after_{0};
  atomic<nanos> held_since_{never};
  atomic<const void*> address_{nullptr};
  atomic<nanos> quiet_for_{0};
  atomic<nanos> born_{0};

 public:
  // NOLINTBEGIN(*-non-private-member-variables-in-classes): the kernel's, which the slot is part of
  factory_hooks* maker = nullptr;  ///< of the resource, or of the create; set by the kernel
  std::uint32_t number = 0;        ///< constant
  pool_slot_record record;         ///< under the mutex; the owner may read `cache`
                                   // NOLINTEND(*-non-private-member-variables-in-classes)

  pool_slot() noexcept = default;
  pool_slot(const pool_slot&) = delete;
  pool_slot& operator=(const pool_slot&) = delete;
  ~pool_slot() = default;

  [[nodiscard]] slot_word word() const noexcept {
    // (1) - this seq_cst-load synchronizes-with the seq_cst-CAS (2), and is in one total order with
    // it and with idle_cache.hpp (1, 2): the kernel that has set a flag sees what was released
    return slot_word(word_.load(std::memory_order_seq_cst));
  }
  [[nodiscard]] resource_state state() const noexcept { return word().state(); }

  // ---- any thread -------------------------------------------------------------------------------

  /// idle -> in_use, or for the kernel checking or closing. `ticket` is the word that was made.
  [[nodiscard]] bool take(slot_word& ticket, resource_state to = resource_state::in_use) noexcept {
    const slot_word seen = word();
    if (seen.state() != resource_state::idle) {
      return false;
    }
    ticket = seen.with_next_turn().in(to);
    return swap(seen, ticket);
  }

  // ---- the owner --------------------------------------------------------------------------------

  /// in_use -> idle. False: the slot is marked, and the kernel decides.
  [[nodiscard]] bool put_back(slot_word ticket) noexcept {
    return swap(ticket, ticket.in(resource_state::idle));
  }

  // ---- the kernel, under the pool's mutex -------------------------------------------------------

  /// Makes the release of the present use take the slow path. False: it is not in use.
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

  /// To any state, with a new turn if it becomes in_use. Requires: it is neither idle nor used by
  /// another thread. Returns the ticket.
  slot_word move(resource_state to) noexcept {
    const slot_word seen = word();
    const slot_word next =
        to == resource_state::in_use ? seen.with_next_turn().in(to) : seen.in(to);
    (void)swap(seen, next);
    return next;
  }

  /// creating -> in_use as a new resource, owned by the caller. `draw` from [0, 1) decides how much
  /// of its lifetime the jitter takes.
  // relaxed (whole function): numbers; the swap publishes them
  slot_word activate(nanos now, const life_limits& limits, double draw) noexcept {
    born_.store(now, std::memory_order_relaxed);
    expires_.store(end_of_life(now, limits, draw), std::memory_order_relaxed);
    uses_.store(0, std::memory_order_relaxed);
    resets_by_pool_.store(false, std::memory_order_relaxed);
    used_until(now, limits);
    const slot_word seen = word();
    const slot_word ticket = seen.with_next_birth().with_next_turn().in(resource_state::in_use);
    (void)swap(seen, ticket);
    return ticket;
  }
  /// Of which flush it is; a later one ends it.
  // relaxed (whole function): a number
  void set_epoch(std::uint32_t epoch) noexcept { epoch_.store(epoch, std::memory_order_relaxed); }
  // relaxed (whole function): a number
  [[nodiscard]] std::uint32_t epoch() const noexcept {
    return epoch_.load(std::memory_order_relaxed);
  }

  // ---- ages: written by the owner, read by all as numbers ---------------------------------------

  // relaxed (whole function): only the owner writes; (2) publishes it to the next one
  /// The use has ended at `now`.
  void used_until(nanos now, const life_limits& limits) noexcept {
    last_used_.store(now, std::memory_order_relaxed);
    validated(now, limits);
  }
  // relaxed (whole function): as above
  /// It was validated at `now`: as good as just used, but idle all the same.
  void validated(nanos now, const life_limits& limits) noexcept {
    looked_after_.store(now, std::memory_order_relaxed);
    const nanos stale = later(now, limits.validate_after);
    const nanos expires = expires_.load(std::memory_order_relaxed);
    fresh_until_.store(std::min(stale, expires), std::memory_order_relaxed);
  }
  // relaxed (whole function): as above
  /// Counts a use. False: that was the last one it may have.
  [[nodiscard]] bool count_use(std::uint64_t max_uses) noexcept {
    const std::uint64_t uses = uses_.load(std::memory_order_relaxed) + 1;
    uses_.store(uses, std::memory_order_relaxed);
    return uses < max_uses;
  }
  // relaxed (whole function): (1) has shown it to the owner; to others a first look
  /// Nothing needs to be looked at before it is used at `now`.
  [[nodiscard]] bool is_fresh(nanos now, std::uint32_t epoch) const noexcept {
    return now < fresh_until_.load(std::memory_order_relaxed) &&
           epoch == epoch_.load(std::memory_order_relaxed);
  }
  // relaxed (whole function): as above
  /// Too old, or made before a flush.
  [[nodiscard]] bool is_over(nanos now, std::uint32_t epoch) const noexcept {
    return now >= expires_.load(std::memory_order_relaxed) ||
           epoch != epoch_.load(std::memory_order_relaxed);
  }
  // relaxed (whole function): numbers
  [[nodiscard]] nanos expires() const noexcept { return expires_.load(std::memory_order_relaxed); }
  // relaxed (whole function): numbers
  [[nodiscard]] nanos born() const noexcept { return born_.load(std::memory_order_relaxed); }
  // relaxed (whole function): numbers
  [[nodiscard]] nanos last_used() const noexcept {
    return last_used_.load(std::memory_order_relaxed);
  }
  // relaxed (whole function): numbers
  [[nodiscard]] nanos looked_after() const noexcept {
    return looked_after_.load(std::memory_order_relaxed);
  }
  // relaxed (whole function): numbers
  [[nodiscard]] std::uint64_t uses() const noexcept {
    return uses_.load(std::memory_order_relaxed);
  }

  // ---- the holder: written by it, read by all as numbers ----------------------------------------

  /// `unwinding` exceptions are active in the thread at this moment.
  // relaxed (whole function): numbers for reports
  void note_holder(nanos now, std::uint32_t thread, int unwinding, place at) noexcept {
    held_since_.store(now, std::memory_order_relaxed);
    thread_.store(thread, std::memory_order_relaxed);
    unwinding_.store(unwinding, std::memory_order_relaxed);
    address_.store(at.address, std::memory_order_relaxed);
    quiet_for_.store(0, std::memory_order_relaxed);
  }
  /// On its way to a waiter.
  // relaxed (whole function): as above
  void note_receiver(std::uint32_t thread) noexcept {
    held_since_.store(never, std::memory_order_relaxed);
    thread_.store(thread, std::memory_order_relaxed);
  }
  // relaxed (whole function): as above
  void forget_thread() noexcept { thread_.store(0, std::memory_order_relaxed); }
  // relaxed (whole function): as above
  [[nodiscard]] std::uint32_t thread() const noexcept {
    return thread_.load(std::memory_order_relaxed);
  }
  // relaxed (whole function): as above
  [[nodiscard]] int unwinding() const noexcept {
    return unwinding_.load(std::memory_order_relaxed);
  }
  /// Only the holder: the lease gives back however it ends.
  // relaxed (whole function): as above
  void keep() noexcept { unwinding_.store(kept, std::memory_order_relaxed); }
  static constexpr int kept = std::numeric_limits<int>::max();
  /// Only the holder: the lease discards however it ends, unless `keep` is called.
  // relaxed (whole function): as above
  void discard_unless_kept() noexcept { unwinding_.store(-1, std::memory_order_relaxed); }
  /// Only the holder: the pool's threads reset the resource.
  // relaxed (whole function): as above
  void reset_by_pool() noexcept { resets_by_pool_.store(true, std::memory_order_relaxed); }
  /// Once for each call of `reset_by_pool`.
  // relaxed (whole function): as above
  [[nodiscard]] bool take_reset_by_pool() noexcept {
    const bool by_pool = resets_by_pool_.load(std::memory_order_relaxed);
    resets_by_pool_.store(false, std::memory_order_relaxed);
    return by_pool;
  }
  // relaxed (whole function): as above
  [[nodiscard]] const void* address() const noexcept {
    return address_.load(std::memory_order_relaxed);
  }
  /// 0 if it is on its way to its holder.
  // relaxed (whole function): as above
  [[nodiscard]] nanos held_for(nanos now) const noexcept {
    const nanos since = held_since_.load(std::memory_order_relaxed);
    return since == never ? 0 : std::max<nanos>(now - since, 0);
  }
  /// Only the holder: reports of this lease come so much later; `never`: none come.
  // relaxed (whole function): as above; only the holder writes
  void extend(nanos by) noexcept {
    quiet_for_.store(later(quiet_for(), by), std::memory_order_relaxed);
  }
  // relaxed (whole function): as above
  [[nodiscard]] nanos quiet_for() const noexcept {
    return quiet_for_.load(std::memory_order_relaxed);
  }

  /// Of the group's key. Set by the kernel while the slot is empty.
  // relaxed (whole function): a first look; the owner compares keys
  [[nodiscard]] std::uint64_t key_hash() const noexcept {
    return key_hash_.load(std::memory_order_relaxed);
  }
  // relaxed (whole function): as above
  void set_key_hash(std::uint64_t hash) noexcept {
    key_hash_.store(hash, std::memory_order_relaxed);
  }

 private:
  bool swap(slot_word from, slot_word to) noexcept {
    std::uint64_t bits = from.bits();
    // (2) - this seq_cst-CAS synchronizes-with the seq_cst-load (1), so the next owner sees all
    // that was done to the resource; and it is in one total order with idle_cache.hpp (1, 2), so
    // that either the releasing thread sees the flag or the kernel sees the resource.
    // relaxed on failure: what is there instead is not looked at, or read again
    return word_.compare_exchange_strong(bits, to.bits(), std::memory_order_seq_cst,
                                         std::memory_order_relaxed);
  }
};

/// A slot, and the ticket of its present use.
struct slot_grant {
  pool_slot* slot = nullptr;
  slot_word ticket;
};
// Returned in registers: through memory, an acquire with its release takes half as long again.
static_assert(sizeof(slot_grant) <= 16);

}  // namespace lido::detail
