/// @file
/// oneTBB's unbounded concurrent_queue of pointers.
#pragma once

#include <oneapi/tbb/concurrent_queue.h>

#include "queued_pool.hpp"

namespace lido_bench {

struct tbb_concurrent_queue_pointers {
  explicit tbb_concurrent_queue_pointers(const sizing& /*size*/) {}
  [[gnu::always_inline]] bool take(void*& object) { return queue.try_pop(object); }
  [[gnu::always_inline]] void give(void* object) { queue.push(object); }

  tbb::concurrent_queue<void*> queue;
};

template <std::size_t Bytes>
struct tbb_concurrent_queue : queued_pool<Bytes, tbb_concurrent_queue_pointers> {
  static constexpr std::string_view name{"tbb_concurrent_queue"};
  using queued_pool<Bytes, tbb_concurrent_queue_pointers>::queued_pool;
};

}  // namespace lido_bench
