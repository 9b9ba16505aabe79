/// @file
/// oneTBB's unbounded concurrent_queue of pointers.
#pragma once

#include <oneapi/tbb/concurrent_queue.h>

#include "../contender.hpp"
#include "slab.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class tbb_concurrent_queue : public contender_defaults {
 public:
  using queue = tbb::concurrent_queue<void*>;
  static constexpr std::string_view name{"tbb_concurrent_queue"};
  static constexpr bool fixed_capacity{true};

  explicit tbb_concurrent_queue(const sizing& size) : memory_{size.capacity} {
    for (std::size_t i{0}; i < size.capacity; ++i) {
      queue_.push(memory_[i]);
    }
  }

  class session {
   public:
    explicit session(tbb_concurrent_queue& pool) : queue_{pool.queue_} {}
    [[gnu::always_inline]] void* acquire() {
      void* object{nullptr};
      return queue_.try_pop(object) ? object : nullptr;
    }
    [[gnu::always_inline]] void release(void* object) { queue_.push(object); }

   private:
    queue& queue_;
  };

 private:
  slab<Bytes> memory_;
  queue queue_;
};

}  // namespace lido_bench
