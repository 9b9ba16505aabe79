/// @file
/// oneTBB's concurrent_bounded_queue of pointers, bounded by the number of objects.
#pragma once

#include <oneapi/tbb/concurrent_queue.h>

#include "../contender.hpp"
#include "slab.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class tbb_bounded_queue : public contender_defaults {
 public:
  using queue = tbb::concurrent_bounded_queue<void*>;
  static constexpr std::string_view name{"tbb_bounded_queue"};
  static constexpr bool fixed_capacity{true};

  explicit tbb_bounded_queue(const sizing& size) : memory_{size.capacity} {
    queue_.set_capacity(static_cast<std::ptrdiff_t>(size.capacity));
    for (std::size_t i{0}; i < size.capacity; ++i) {
      queue_.push(memory_[i]);
    }
  }

  class session {
   public:
    explicit session(tbb_bounded_queue& pool) : queue_{pool.queue_} {}
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
