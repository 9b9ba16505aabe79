/// @file
/// Internal. The lock-free part of a resource pool. It finds idle resources, and checks whether
/// acquires have to leave them alone.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <utility>

#include "lido/base/assert.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/debug/code_address.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/resource/factory_hooks.hpp"
#include "lido/resource/pool_gate.hpp"
#include "lido/resource/slot.hpp"
#include "lido/resource/slow_path_flags.hpp"
#include "lido/resource/thread_state.hpp"

namespace lido::inline v0::detail {

class pool_core;
class slot_group;
struct known_key;

/// Sixty-four positions of a group, and a bitmap of the positions whose slots may be idle. A bit is
/// set for every slot that is idle, and for every slot in use whose release takes the fast path.
struct position_chunk {
  atomic<std::uint64_t> maybe_idle{0};
  std::uint64_t taken = 0;  ///< positions that have a slot; protected by the mutex
  std::array<relaxed<pool_slot*>, 64> by_index{};
  atomic<position_chunk*> next{nullptr};  ///< owned by the cache
};

/// The idle resources of one group, which any thread can take without a lock.
///
/// An acquire takes the resource that its thread had last, if that is idle. Otherwise it takes the
/// idle resource in the lowest position, so that surplus resources grow old. Progress: acquires and
/// releases are wait-free if the thread had the resource last, otherwise lock-free.
class idle_cache {
 public:
  idle_cache(pool_core* core, pool_gate& gate, slot_group* group) noexcept
      : core_(core), group_(group), gate_(gate) {}
  idle_cache(const idle_cache&) = delete;
  idle_cache& operator=(const idle_cache&) = delete;
  // relaxed (whole function): no other thread can access the cache any more
  ~idle_cache() {
    for (position_chunk* chunk = first_.next.load(std::memory_order_relaxed); chunk != nullptr;) {
      delete std::exchange(chunk, chunk->next.load(std::memory_order_relaxed));
    }
  }

  /// Takes the resource that this thread had last, if that is idle and fresh. Used only in a pool
  /// without keys. Its only group has the hash 0, so the first hint of the thread is the right one.
  [[nodiscard, LIDO_FAST_PATH]] slot_grant try_acquire_last(code_address at) noexcept {
    pool_slot* const slot = gate_.mine().last[0].get();
    slot_grant grant{slot, {}};
    return slot != nullptr && !is_off_limits() && slot->take(grant.ticket)
               ? begin_if_fresh(grant, at)
               : slot_grant{};
  }
  /// Takes the resource that this thread (or, failing that, any thread) had last for a key whose
  /// hash is `hash`. Takes the resource only if it is idle and fresh. The caller compares the keys,
  /// and calls `offer` if they differ.
  [[nodiscard, LIDO_FAST_PATH]] static slot_grant try_acquire_hint(pool_gate& gate,
                                                                   std::uint64_t hash,
                                                                   code_address at) noexcept {
    slot_grant grant;
    if (gate.flags.get() != 0 ||
        (!take_of(gate.mine().last[hash % thread_state::hints].get(), hash, grant) &&
         !take_of(gate.last_of_key(hash).get(), hash, grant))) {
      return {};
    }
    return grant.slot->record.cache->begin_if_fresh(grant, at);
  }
  /// Takes the idle, fresh resource in the lowest position. The caller records itself as the
  /// holder.
  [[nodiscard]] slot_grant take_lowest() noexcept {
    slot_grant found;
    if (!is_off_limits()) {
      found.slot = find_maybe_idle([&](pool_slot& slot) {
        return slot.state() == resource_state::idle && slot.is_fresh(gate_.now(), epoch()) &&
               slot.take(found.ticket);
      });
    }
    return found;
  }
  /// Gives a resource back: makes it idle, or leaves it to the kernel.
  [[LIDO_ASSERTS]] void release(const slot_grant& grant) noexcept {
    pool_slot& slot = *grant.slot;
    const nanos now = gate_.now();
    gate_.end_use(slot);
    const reset_way resets = slot.resets.get();
    if (slot.uses() >= gate_.life.max_uses || resets == reset_way::with_time ||
        slot.is_over(now, epoch()) || was_unwound(slot)) [[unlikely]] {
      release_slow(grant);
      return;
    }
    if (resets == reset_way::at_once && !slot.maker->reset_at_once(slot)) [[unlikely]] {
      release_slow(grant, /*refused=*/true);
      return;
    }
    slot.used_until(now, gate_.life);
    offer(grant);
  }

  /// Returns true if new acquires have to leave idle resources alone.
  [[nodiscard]] bool is_off_limits() const noexcept {
    return (gate_.flags.get() & slow_path_flags::keep_off) != 0;
  }
  /// Returns true if a release has to notify the kernel. A waiter that is awake looks for a
  /// resource before it sleeps. So while a waiter is awake, returns true only once the first waiter
  /// is due for a hand-over.
  [[nodiscard]] bool must_tell_kernel() const noexcept {
    const std::uint32_t flags = flags_.get() | gate_.flags.get();
    return flags != 0 &&
           (flags != slow_path_flags::ask_when_due || steady_now() >= hand_over_at_.get());
  }
  /// Returns the current epoch. A flush first sets the next epoch, and then checks all slots.
  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_.get(); }
  /// Returns the pool, or null in tests of the kernel, which do not take the fast path.
  [[nodiscard]] pool_core* core() const noexcept { return core_; }
  /// Returns the group of this cache.
  [[nodiscard]] slot_group* group() const noexcept { return group_; }
  [[nodiscard]] pool_gate& gate() const noexcept { return gate_; }
  /// Returns the key of the group, or null in a pool without keys.
  [[nodiscard]] const known_key* key() const noexcept { return key_; }
  /// Sets the key of the group. Called once. Requires: the pool's mutex is held.
  void set_key(const known_key& key) noexcept { key_ = &key; }

  /// Makes a slot idle. The caller has used the slot, or has taken it but does not want it. If the
  /// slot is marked, lets the kernel decide what happens to it.
  [[LIDO_ASSERTS]] void offer(const slot_grant& grant) noexcept {
    pool_slot& slot = *grant.slot;
    thread_state& mine = gate_.mine();
    leaving_guard leaving(mine);
    slot.lease.thread.set(0);  // the holder is unknown until the next user records itself
    if (!slot.put_back(grant.ticket)) [[unlikely]] {
      leaving.end();
      release_marked(grant);
      return;
    }
    if (must_tell_kernel()) [[unlikely]] {
      report_idle(leaving);
      return;
    }
    // Threads without a number get no hint. With a hint they would always hit, and never reach the
    // slow path that assigns a number.
    if (own_thread_state() != 0) {
      mine.last[slot.key_hash.get() % thread_state::hints].set(&slot);
    }
    if (gate_.has_keys()) {
      auto& last = gate_.last_of_key(slot.key_hash.get());
      if (last.get() != &slot) {
        last.set(&slot);
      }
    }
  }
  /// Offers a resource that the caller does not want. Returns an empty grant.
  [[nodiscard, LIDO_ASSERTS]] slot_grant decline(const slot_grant& grant) noexcept {
    offer(grant);
    return {};
  }
  /// Returns true if an exception ends the lease.
  [[nodiscard]] static bool was_unwound(const pool_slot& slot) noexcept {
    const int active = std::uncaught_exceptions();
    return active > slot.lease.unwinding.get() ||
           (active != 0 && slot.lease.thread.get() != this_thread_id() &&
            slot.lease.unwinding.get() != lease_record::kept);
  }

  /// Returns the first slot that may be idle and for which `f(slot)` is true, or null if there is
  /// none.
  template <class F>
  pool_slot* find_maybe_idle(const F& f) noexcept {
    for (position_chunk* chunk = &first_; chunk != nullptr;
         // (1) - this acquire-load synchronizes-with the release-store (2)
         chunk = chunk->next.load(std::memory_order_acquire)) {
      if (pool_slot* const found = find_in(*chunk, f)) {
        return found;
      }
    }
    return nullptr;
  }

  // ---- the kernel, under the pool's mutex -------------------------------------------------------

  /// Gives the slot the lowest free position. Returns false if there is no memory.
  [[nodiscard]] bool add(pool_slot& slot) noexcept {
    position_chunk* chunk = &first_;
    while (chunk->taken == ~std::uint64_t{0}) {
      // relaxed: only changed under the mutex
      position_chunk* more = chunk->next.load(std::memory_order_relaxed);
      if (more == nullptr) {
        more = new (std::nothrow) position_chunk;
        // (2) - this release-store synchronizes-with the acquire-load (1)
        chunk->next.store(more, std::memory_order_release);
      }
      if (more == nullptr) {
        return false;
      }
      chunk = more;
    }
    const auto index = static_cast<std::size_t>(std::countr_one(chunk->taken));
    chunk->by_index[index].set(&slot);  // (3) publishes the slot
    slot.record.cache = this;
    slot.record.chunk = chunk;
    slot.record.bit = std::uint64_t{1} << index;
    chunk->taken |= slot.record.bit;
    return true;
  }
  static void remove(pool_slot& slot) noexcept {
    set_maybe_idle(slot, /*on=*/false);
    position_chunk& chunk = *slot.record.chunk;
    chunk.taken &= ~slot.record.bit;
    // This is safe: a thread that has already read the pointer finds that the slot is not idle.
    chunk.by_index[static_cast<std::size_t>(std::countr_zero(slot.record.bit))].set(nullptr);
    slot.record.cache = nullptr;
  }
  /// Returns true if any slot of the group is idle, or is in use and not marked.
  [[nodiscard]] bool may_have_idle() const noexcept { return listed_ != 0; }
  static void set_maybe_idle(const pool_slot& slot, bool on) noexcept {
    atomic<std::uint64_t>& bits = slot.record.chunk->maybe_idle;
    // relaxed: only changed under the mutex
    const std::uint64_t before = bits.load(std::memory_order_relaxed);
    const std::uint64_t after = on ? before | slot.record.bit : before & ~slot.record.bit;
    if (after != before) {
      slot.record.cache->listed_ += on ? 1U : static_cast<std::uint32_t>(-1);
      // (3) - this release-store synchronizes-with the acquire-load (4)
      bits.store(after, std::memory_order_release);
    }
  }
  /// Sets the flags. `hand_over_at` is the real time from which `ask_when_due` applies.
  void set_flags(std::uint32_t flags, nanos hand_over_at) noexcept {
    hand_over_at_.set(hand_over_at);
    flags_.set(flags);
  }
  void set_epoch(std::uint32_t epoch) noexcept { epoch_.set(epoch); }

 private:
  template <class F>
  static pool_slot* find_in(position_chunk& chunk, const F& f) noexcept {
    // (4) - this acquire-load synchronizes-with the release-store (3), so the slot is visible
    for (std::uint64_t bits = chunk.maybe_idle.load(std::memory_order_acquire); bits != 0;
         bits &= bits - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
      pool_slot* const slot = chunk.by_index[bit].get();
      if (slot != nullptr && f(*slot)) {
        return slot;
      }
    }
    return nullptr;
  }
  /// Takes a slot if it is idle and holds a resource of a key whose hash is `hash`.
  [[nodiscard]] static bool take_of(pool_slot* slot, std::uint64_t hash,
                                    slot_grant& grant) noexcept {
    grant.slot = slot;
    return slot != nullptr && slot->key_hash.get() == hash && slot->take(grant.ticket);
  }
  /// Begins the use of the resource if it is fresh, and returns `grant`. Otherwise offers the
  /// resource to other threads.
  [[nodiscard, LIDO_FAST_PATH]] slot_grant begin_if_fresh(const slot_grant& grant,
                                                          code_address at) noexcept {
    const nanos now = gate_.now();
    if (!grant.slot->is_fresh(now, epoch())) [[unlikely]] {
      return decline(grant);
    }
    grant.slot->note_holder(now, this_thread_id(), std::uncaught_exceptions(), at);
    gate_.begin_use(*grant.slot);
    return grant;
  }
  // Defined in idle_cache.cpp.
  [[LIDO_SLOW_PATH]] void release_slow(const slot_grant& grant, bool refused = false) noexcept;
  [[LIDO_SLOW_PATH]] void release_marked(const slot_grant& grant) noexcept;
  [[LIDO_SLOW_PATH]] void report_idle(leaving_guard& leaving) noexcept;

  alignas(no_false_sharing) slow_path_flags flags_;
  relaxed<nanos> hand_over_at_;
  std::uint32_t listed_ = 0;  // number of slots that may be idle; protected by the mutex
  relaxed<std::uint32_t> epoch_{1};
  pool_core* core_;
  slot_group* group_;
  const known_key* key_ = nullptr;
  pool_gate& gate_;
  position_chunk first_;
};

}  // namespace lido::inline v0::detail
