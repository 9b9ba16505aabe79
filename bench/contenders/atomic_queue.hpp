/// @file
/// atomic_queue::AtomicQueueB of pointers: the run-time sized one for atomic elements.
///
/// try_pop and try_push, because pop() waits and a pool must be able to report that it is empty. A
/// push that finds the ring full can only be early: there are never more objects than entries.
#pragma once

#include <atomic_queue/atomic_queue.h>

#include <thread>

#include "../contender.hpp"
#include "slab.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class atomic_queue : public contender_defaults {
 public:
  using queue = ::atomic_queue::AtomicQueueB<void*>;
  static constexpr std::string_view name{"atomic_queue"};
  static constexpr bool fixed_capacity{true};

  explicit atomic_queue(const sizing& size)
      : memory_{size.capacity}, queue_{static_cast<unsigned>(size.capacity)} {
    for (std::size_t i{0}; i < size.capacity; ++i) {
      queue_.push(memory_[i]);
    }
  }

  class session {
   public:
    explicit session(atomic_queue& pool) : queue_{pool.queue_} {}
    [[gnu::always_inline]] void* acquire() {
      void* object{nullptr};
      return queue_.try_pop(object) ? object : nullptr;
    }
    [[gnu::always_inline]] void release(void* object) {
      while (!queue_.try_push(object)) {
        std::this_thread::yield();
      };
    }

   private:
    queue& queue_;
  };

 private:
  slab<Bytes> memory_;
  queue queue_;
};

}  // namespace lido_bench
