/// @file
/// First answer to a full pool: it never is full, because its size was tuned to the demand.
#pragma once

#include <cstddef>
#include <lido/object_pool.hpp>

#include "../nursery.hpp"
#include "leased.hpp"
#include "particle_store.hpp"

namespace particles {

/// `emit` throws lido::pool_exhausted if the tuning is wrong by a single particle. It may be as
/// tight as that: a pool of N slots has N particles out, even while free slots are in the caches of
/// other threads.
class tuned_store : public leased {
 public:
  explicit tuned_store(std::size_t capacity)
      : leased({.capacity = capacity, .name = "tuned particles"}) {}

  bool emit(nursery& from) {
    members().add(pool().acquire(from));
    return true;
  }
};

static_assert(particle_store<tuned_store>);

}  // namespace particles
