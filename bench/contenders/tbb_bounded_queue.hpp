/// @file
/// oneTBB's concurrent_bounded_queue of pointers, bounded by the number of objects.
#pragma once

#include <oneapi/tbb/concurrent_queue.h>

#include "queued_pool.hpp"

namespace lido_bench {

struct tbb_bounded_queue_pointers {
  explicit tbb_bounded_queue_pointers(const sizing& size) {
    queue.set_capacity(static_cast<std::ptrdiff_t>(size.capacity));
  }
  [[gnu::always_inline]] bool take(void*& object) { return queue.try_pop(object); }
  [[gnu::always_inline]] void give(void* object) { queue.push(object); }

  tbb::concurrent_bounded_queue<void*> queue;
};

template <std::size_t Bytes>
struct tbb_bounded_queue : queued_pool<Bytes, tbb_bounded_queue_pointers> {
  static constexpr std::string_view name{"tbb_bounded_queue"};
  using queued_pool<Bytes, tbb_bounded_queue_pointers>::queued_pool;
};

}  // namespace lido_bench
