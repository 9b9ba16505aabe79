/// @file
/// boost::lockfree::queue of pointers.
///
/// fixed_sized: nodes come from an array and are linked by 16-bit indices, so that neither call can
/// reach the allocator. One node more than objects: the queue keeps a dummy.
#pragma once

#include <boost/lockfree/queue.hpp>

#include "../contender.hpp"
#include "slab.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class boost_lockfree_queue : public contender_defaults {
 public:
  using queue = boost::lockfree::queue<void*, boost::lockfree::fixed_sized<true>>;
  static constexpr std::string_view name{"boost_lockfree_queue"};
  static constexpr bool fixed_capacity{true};

  explicit boost_lockfree_queue(const sizing& size)
      : memory_{size.capacity}, queue_{size.capacity + 1} {
    for (std::size_t i{0}; i < size.capacity; ++i) {
      queue_.bounded_push(memory_[i]);
    }
  }

  class session {
   public:
    explicit session(boost_lockfree_queue& pool) : queue_{pool.queue_} {}
    [[gnu::always_inline]] void* acquire() {
      void* object{nullptr};
      return queue_.pop(object) ? object : nullptr;
    }
    [[gnu::always_inline]] void release(void* object) { queue_.bounded_push(object); }

   private:
    queue& queue_;
  };

 private:
  slab<Bytes> memory_;
  queue queue_;
};

}  // namespace lido_bench
