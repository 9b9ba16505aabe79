/// @file
/// Fourth answer to a full pool: it grows, and shrinks when the demand is over.
#pragma once

#include <cstddef>
#include <lido/object_pool.hpp>

#include "../nursery.hpp"
#include "leased.hpp"
#include "particle_store.hpp"

namespace particles {

/// Particles keep their addresses while the pool grows; memory whose last particle has died goes
/// back to the system.
class growing_store : public leased {
 public:
  growing_store(std::size_t capacity, std::size_t max_capacity)
      : leased({.capacity = capacity,
                .name = "growing particles",
                .max_capacity = max_capacity,
                .when_full = lido::when_full::grow}) {}

  bool emit(nursery& from) {
    members().add(pool().acquire(from));
    return true;
  }

  void settle() {
    leased::settle();
    const std::size_t wanted = in_use() + in_use() / 8;
    if (capacity() > wanted) {
      pool().shrink_to(wanted);
    }
  }
};

static_assert(particle_store<growing_store>);

}  // namespace particles
