/// @file
/// ::moodycamel::ConcurrentQueue of pointers without tokens, which is its simplest use.
#pragma once

#include <concurrentqueue/concurrentqueue.h>

#include "../contender.hpp"
#include "slab.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class moodycamel : public contender_defaults {
 public:
  using queue = ::moodycamel::ConcurrentQueue<void*>;
  static constexpr std::string_view name{"moodycamel"};
  static constexpr bool fixed_capacity{true};

  explicit moodycamel(const sizing& size) : memory_{size.capacity}, queue_(size.capacity) {
    for (std::size_t i{0}; i < size.capacity; ++i) {
      queue_.enqueue(memory_[i]);
    }
  }

  class session {
   public:
    explicit session(moodycamel& pool) : queue_{pool.queue_} {}
    [[gnu::always_inline]] void* acquire() {
      void* object{nullptr};
      return queue_.try_dequeue(object) ? object : nullptr;
    }
    [[gnu::always_inline]] void release(void* object) { queue_.enqueue(object); }

   private:
    queue& queue_;
  };

 private:
  slab<Bytes> memory_;
  queue queue_;
};

}  // namespace lido_bench
