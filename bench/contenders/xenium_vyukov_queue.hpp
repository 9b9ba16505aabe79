/// @file
/// xenium::vyukov_bounded_queue of pointers.
///
/// It uses the strong calls, which are the default. The weak ones fail when a neighbour is in the
/// middle of its own call, which a pool would have to report as exhaustion.
#pragma once

#include <bit>
#include <thread>
#include <xenium/vyukov_bounded_queue.hpp>

#include "queued_pool.hpp"

namespace lido_bench {

struct xenium_vyukov_queue_pointers {
  explicit xenium_vyukov_queue_pointers(const sizing& size) : queue{std::bit_ceil(size.capacity)} {}
  [[gnu::always_inline]] bool take(void*& object) { return queue.try_pop(object); }
  [[gnu::always_inline]] void give(void* object) {
    while (!queue.try_push(object)) {
      std::this_thread::yield();
    }
  }

  xenium::vyukov_bounded_queue<void*> queue;
};

template <std::size_t Bytes>
struct xenium_vyukov_queue : queued_pool<Bytes, xenium_vyukov_queue_pointers> {
  static constexpr std::string_view name{"xenium_vyukov_queue"};
  using queued_pool<Bytes, xenium_vyukov_queue_pointers>::queued_pool;
};

}  // namespace lido_bench
