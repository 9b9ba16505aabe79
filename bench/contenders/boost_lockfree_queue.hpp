/// @file
/// boost::lockfree::queue of pointers.
///
/// fixed_sized: nodes come from an array and are linked by 16-bit indices, so that neither call can
/// reach the allocator. There is one node more than objects, because the queue keeps a dummy.
#pragma once

#include <boost/lockfree/queue.hpp>

#include "queued_pool.hpp"

namespace lido_bench {

struct boost_lockfree_queue_pointers {
  explicit boost_lockfree_queue_pointers(const sizing& size) : queue{size.capacity + 1} {}
  [[gnu::always_inline]] bool take(void*& object) { return queue.pop(object); }
  [[gnu::always_inline]] void give(void* object) { queue.bounded_push(object); }

  boost::lockfree::queue<void*, boost::lockfree::fixed_sized<true>> queue;
};

template <std::size_t Bytes>
struct boost_lockfree_queue : queued_pool<Bytes, boost_lockfree_queue_pointers> {
  static constexpr std::string_view name{"boost_lockfree_queue"};
  using queued_pool<Bytes, boost_lockfree_queue_pointers>::queued_pool;
};

}  // namespace lido_bench
