/// @file
/// xenium::vyukov_bounded_queue of pointers.
///
/// The strong calls, its default: the weak ones fail when a neighbour is in the middle of its own
/// call, which a pool would have to report as exhaustion.
#pragma once

#include <bit>
#include <thread>
#include <xenium/vyukov_bounded_queue.hpp>

#include "../contender.hpp"
#include "slab.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class xenium_vyukov_queue : public contender_defaults {
 public:
  using queue = xenium::vyukov_bounded_queue<void*>;
  static constexpr std::string_view name{"xenium_vyukov_queue"};
  static constexpr bool fixed_capacity{true};

  explicit xenium_vyukov_queue(const sizing& size)
      : memory_{size.capacity}, queue_{std::bit_ceil(size.capacity)} {
    for (std::size_t i{0}; i < size.capacity; ++i) {
      while (!queue_.try_push(memory_[i])) {
        std::this_thread::yield();
      };
    }
  }

  class session {
   public:
    explicit session(xenium_vyukov_queue& pool) : queue_{pool.queue_} {}
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
