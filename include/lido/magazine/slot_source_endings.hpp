/// @file
/// Internal. What becomes of caches whose threads are gone: ended, or left behind by a fork.
/// Included by slot_source_impl.hpp.
#pragma once

#include "lido/magazine/slot_source.hpp"

namespace lido::detail {

template <index_stack Stack>
void slot_source<Stack>::on_thread_exit(std::uint32_t number) noexcept {
  thread_cache& cache = caches_[number];
  if (!cache.notes().active) {
    return;
  }
  empty_and_close(cache);
  // relaxed: a number from which shares are computed
  open_caches_.fetch_sub(1, std::memory_order_relaxed);
}

/// Leaves a cache as for the first thread of its number.
template <index_stack Stack>
void slot_source<Stack>::empty_and_close(thread_cache& cache) noexcept {
  // A busy cache is one whose owner a fork has left behind, and what is in it, nobody knows.
  if (cache.control().state() != cache_state::busy) {
    (void)flush(cache, cache.settle(kind_).count, 0);
  }
  cache.close();
  auto& notes = cache.notes();
  notes.active = false;
  notes.last_was_flush = false;
  notes.sizing.reset(scarcity());
}

/// Ends what the missing threads had begun. The slots that they were moving are lost to this
/// process, whether they count as in use or as free. All others are where anybody finds them, and
/// nobody waits for the missing.
// relaxed (whole function): there is one thread
template <index_stack Stack>
void slot_source<Stack>::on_fork(std::uint32_t survivor) noexcept {
  for (std::uint32_t number = 1; number <= magazine_numbers; ++number) {
    const bool left_behind =
        caches_[number].notes().active || caches_[number].control().state() != cache_state::frozen;
    if (number != survivor && left_behind) {
      empty_and_close(caches_[number]);
    }
  }
  carrying_.store(0, std::memory_order_relaxed);
  waiters_.forget_all();
  open_caches_.store(caches_[survivor].notes().active ? 1 : 0, std::memory_order_relaxed);
}

}  // namespace lido::detail
