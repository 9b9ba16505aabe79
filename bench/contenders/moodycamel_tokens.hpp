/// @file
/// ::moodycamel::ConcurrentQueue of pointers with one producer and one consumer token per thread,
/// which its documentation names as the fastest use.
#pragma once

#include <concurrentqueue/concurrentqueue.h>

#include "contender.hpp"
#include "slab.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class moodycamel_tokens : public contender_defaults {
 public:
  using queue = ::moodycamel::ConcurrentQueue<void*>;
  static constexpr std::string_view name{"moodycamel_tokens"};
  static constexpr bool fixed_capacity{true};

  explicit moodycamel_tokens(const sizing& size)
      : memory_{size.capacity}, queue_(size.capacity, size.threads + 1, 0) {
    ::moodycamel::ProducerToken token{queue_};
    for (std::size_t i{0}; i < size.capacity; ++i) {
      queue_.enqueue(token, memory_[i]);
    }
  }

  class session {
   public:
    explicit session(moodycamel_tokens& pool) : queue_{pool.queue_} {}
    [[gnu::always_inline]] void* acquire() {
      void* object{nullptr};
      return queue_.try_dequeue(consumer_, object) ? object : nullptr;
    }
    [[gnu::always_inline]] void release(void* object) { queue_.enqueue(producer_, object); }

   private:
    queue& queue_;
    ::moodycamel::ProducerToken producer_{queue_};
    ::moodycamel::ConsumerToken consumer_{queue_};
  };

 private:
  slab<Bytes> memory_;
  queue queue_;
};

}  // namespace lido_bench
