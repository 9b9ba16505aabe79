/// @file
/// atomic_queue::AtomicQueueB of pointers: the variant whose size is set at run time, for atomic
/// elements.
///
/// It uses try_pop and try_push, because pop() waits and a pool must be able to report that it is
/// empty. A push that finds the ring full can only be early: there are never more objects than
/// entries.
#pragma once

#include <atomic_queue/atomic_queue.h>

#include <thread>

#include "queued_pool.hpp"

namespace lido_bench {

struct atomic_queue_pointers {
  explicit atomic_queue_pointers(const sizing& size)
      : queue{static_cast<unsigned>(size.capacity)} {}
  [[gnu::always_inline]] bool take(void*& object) { return queue.try_pop(object); }
  [[gnu::always_inline]] void give(void* object) {
    while (!queue.try_push(object)) {
      std::this_thread::yield();
    }
  }

  ::atomic_queue::AtomicQueueB<void*> queue;
};

template <std::size_t Bytes>
struct atomic_queue : queued_pool<Bytes, atomic_queue_pointers> {
  static constexpr std::string_view name{"atomic_queue"};
  using queued_pool<Bytes, atomic_queue_pointers>::queued_pool;
};

}  // namespace lido_bench
