/// @file
/// ::moodycamel::ConcurrentQueue of pointers without tokens, which is its simplest use.
#pragma once

#include <concurrentqueue/concurrentqueue.h>

#include "queued_pool.hpp"

namespace lido_bench {

struct moodycamel_pointers {
  explicit moodycamel_pointers(const sizing& size) : queue(size.capacity) {}
  [[gnu::always_inline]] bool take(void*& object) { return queue.try_dequeue(object); }
  [[gnu::always_inline]] void give(void* object) { queue.enqueue(object); }

  ::moodycamel::ConcurrentQueue<void*> queue;
};

template <std::size_t Bytes>
struct moodycamel : queued_pool<Bytes, moodycamel_pointers> {
  static constexpr std::string_view name{"moodycamel"};
  using queued_pool<Bytes, moodycamel_pointers>::queued_pool;
};

}  // namespace lido_bench
