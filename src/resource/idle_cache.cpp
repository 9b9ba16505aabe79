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

position_chunk* idle_cache::chunk_of(std::uint32_t position) noexcept {
  position_chunk* chunk = &first_;
  for (std::uint32_t i = position / 64; i != 0; --i) {
    // relaxed: under the mutex
    chunk = chunk->next.load(std::memory_order_relaxed);
  }
  return chunk;
}

/// The next one, made if there is none; null: there is no memory.
position_chunk* idle_cache::chunk_after(position_chunk& chunk) noexcept {
  // relaxed: under the mutex
  position_chunk* next = chunk.next.load(std::memory_order_relaxed);
  if (next == nullptr) {
    chunk.owned.reset(new (std::nothrow) position_chunk);
    next = chunk.owned.get();
    // (7) - this release-store synchronizes-with the acquire-load (6)
    chunk.next.store(next, std::memory_order_release);
  }
  return next;
}

bool idle_cache::add(pool_slot& slot) noexcept {
  position_chunk* chunk = &first_;
  std::uint32_t base = 0;
  for (; chunk != nullptr && chunk->taken == ~std::uint64_t{0}; base += 64) {
    chunk = chunk_after(*chunk);
  }
  if (chunk == nullptr) {
    return false;
  }
  const auto bit = static_cast<std::uint32_t>(std::countr_one(chunk->taken));
  chunk->taken |= std::uint64_t{1} << bit;
  chunk->slots[bit].set(&slot);  // (9) publishes it
  slot.record.cache = this;
  slot.record.position = base + bit;
  return true;
}

void idle_cache::remove(pool_slot& slot) noexcept {
  set_maybe_idle(slot, /*on=*/false);
  position_chunk& chunk = *chunk_of(slot.record.position);
  const std::uint32_t bit = slot.record.position % 64;
  chunk.taken &= ~(std::uint64_t{1} << bit);
  chunk.slots[bit].set(nullptr);  // a thread that still sees the slot finds that it is not idle
  slot.record.cache = nullptr;
}

void idle_cache::set_maybe_idle(const pool_slot& slot, bool on) noexcept {
  position_chunk& chunk = *chunk_of(slot.record.position);
  const std::uint64_t bit = std::uint64_t{1} << slot.record.position % 64;
  // relaxed: only changed under the mutex
  const std::uint64_t before = chunk.maybe_idle.load(std::memory_order_relaxed);
  const std::uint64_t after = on ? before | bit : before & ~bit;
  if (after != before) {
    // (9) - this release-store synchronizes-with the acquire-load (8)
    chunk.maybe_idle.store(after, std::memory_order_release);
  }
}

}  // namespace lido::detail
