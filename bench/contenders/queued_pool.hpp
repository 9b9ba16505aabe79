/// @file
/// A pool of objects that lie in a queue or a stack of pointers while they are free.
#pragma once

#include "contender.hpp"
#include "slab.hpp"

namespace lido_bench {

/// `Queue` is built from a `sizing`, and has `bool take(void*&)`, false if it is empty, and
/// `void give(void*)`.
template <std::size_t Bytes, class Queue>
class queued_pool : public contender_defaults {
 public:
  static constexpr bool fixed_capacity{true};

  explicit queued_pool(const sizing& size) : memory_{size.capacity}, queue_{size} {
    for (std::size_t i{0}; i < size.capacity; ++i) {
      queue_.give(memory_[i]);
    }
  }

  class session {
   public:
    explicit session(queued_pool& pool) : queue_{pool.queue_} {}
    [[gnu::always_inline]] void* acquire() {
      void* object{nullptr};
      return queue_.take(object) ? object : nullptr;
    }
    [[gnu::always_inline]] void release(void* object) { queue_.give(object); }

   private:
    Queue& queue_;
  };

 private:
  slab<Bytes> memory_;
  Queue queue_;
};

}  // namespace lido_bench
