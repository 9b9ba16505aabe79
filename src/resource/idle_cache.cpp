// Idle resources without a lock: the paths that are not inlined.
#include "lido/resource/idle_cache.hpp"

namespace lido::detail {

slot_grant idle_cache::take_lowest() noexcept {
  slot_grant found;
  if (!is_held()) {
    found.slot = find_maybe_idle([&](pool_slot& slot) {
      return slot.state() == resource_state::idle && slot.is_fresh(gate_.now(), epoch()) &&
             slot.take(found.ticket);
    });
  }
  return found;
}

bool idle_cache::add(pool_slot& slot) noexcept {
  position_chunk* chunk = &first_;
  while (chunk->taken == ~std::uint64_t{0}) {
    if (chunk->owned == nullptr) {
      chunk->owned.reset(new (std::nothrow) position_chunk);
      // (7) - this release-store synchronizes-with the acquire-load (6)
      chunk->next.store(chunk->owned.get(), std::memory_order_release);
    }
    chunk = chunk->owned.get();
    if (chunk == nullptr) {
      return false;
    }
  }
  const auto place = static_cast<std::size_t>(std::countr_one(chunk->taken));
  chunk->slots[place].set(&slot);  // (9) publishes it
  slot.record.cache = this;
  slot.record.chunk = chunk;
  slot.record.bit = std::uint64_t{1} << place;
  chunk->taken |= slot.record.bit;
  return true;
}

void idle_cache::remove(pool_slot& slot) noexcept {
  set_maybe_idle(slot, /*on=*/false);
  position_chunk& chunk = *slot.record.chunk;
  chunk.taken &= ~slot.record.bit;
  // A thread that still sees the slot finds that it is not idle.
  chunk.slots[static_cast<std::size_t>(std::countr_zero(slot.record.bit))].set(nullptr);
  slot.record.cache = nullptr;
}

void idle_cache::set_maybe_idle(const pool_slot& slot, bool on) noexcept {
  atomic<std::uint64_t>& bits = slot.record.chunk->maybe_idle;
  // relaxed: only changed under the mutex
  const std::uint64_t before = bits.load(std::memory_order_relaxed);
  const std::uint64_t after = on ? before | slot.record.bit : before & ~slot.record.bit;
  if (after != before) {
    // (9) - this release-store synchronizes-with the acquire-load (8)
    bits.store(after, std::memory_order_release);
  }
}

}  // namespace lido::detail
