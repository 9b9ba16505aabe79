/// @file
/// xenium::ramalhete_queue of pointers with epoch-based reclamation: one of its reclaimers whose
/// readers write nothing per node. Its nodes of 512 entries come from the allocator.
#pragma once

// Its header on reclamation uses std::array without including it.
#include <array>

#include <xenium/ramalhete_queue.hpp>
#include <xenium/reclamation/generic_epoch_based.hpp>

#include "queued_pool.hpp"

namespace lido_bench {

struct xenium_ramalhete_queue_pointers {
  explicit xenium_ramalhete_queue_pointers(const sizing& /*size*/) {}
  [[gnu::always_inline]] bool take(void*& object) {
    std::byte* taken{nullptr};
    const bool took{queue.try_pop(taken)};
    object = taken;
    return took;
  }
  [[gnu::always_inline]] void give(void* object) { queue.push(static_cast<std::byte*>(object)); }

  xenium::ramalhete_queue<std::byte*, xenium::policy::reclaimer<xenium::reclamation::epoch_based<>>>
      queue;
};

template <std::size_t Bytes>
struct xenium_ramalhete_queue : queued_pool<Bytes, xenium_ramalhete_queue_pointers> {
  static constexpr std::string_view name{"xenium_ramalhete_queue"};
  using queued_pool<Bytes, xenium_ramalhete_queue_pointers>::queued_pool;
};

}  // namespace lido_bench
