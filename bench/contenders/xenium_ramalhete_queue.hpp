/// @file
/// xenium::ramalhete_queue of pointers with epoch-based reclamation: of the reclaimers it brings,
/// one whose readers write nothing per node. Its nodes of 512 entries come from the allocator.
#pragma once

// Its header on reclamation uses std::array without including it.
#include <array>

#include <xenium/ramalhete_queue.hpp>
#include <xenium/reclamation/generic_epoch_based.hpp>

#include "../contender.hpp"
#include "slab.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class xenium_ramalhete_queue : public contender_defaults {
 public:
  using queue =
      xenium::ramalhete_queue<block<Bytes>*,
                              xenium::policy::reclaimer<xenium::reclamation::epoch_based<>>>;
  static constexpr std::string_view name{"xenium_ramalhete_queue"};
  static constexpr bool fixed_capacity{true};

  explicit xenium_ramalhete_queue(const sizing& size) : memory_{size.capacity} {
    for (std::size_t i{0}; i < size.capacity; ++i) {
      queue_.push(static_cast<block<Bytes>*>(memory_[i]));
    }
  }

  class session {
   public:
    explicit session(xenium_ramalhete_queue& pool) : queue_{pool.queue_} {}
    [[gnu::always_inline]] void* acquire() {
      block<Bytes>* object{nullptr};
      return queue_.try_pop(object) ? object : nullptr;
    }
    [[gnu::always_inline]] void release(void* object) {
      queue_.push(static_cast<block<Bytes>*>(object));
    }

   private:
    queue& queue_;
  };

 private:
  slab<Bytes> memory_;
  queue queue_;
};

}  // namespace lido_bench
