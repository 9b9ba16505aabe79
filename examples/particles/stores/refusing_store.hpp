/// @file
/// Second answer to a full pool: the new particle is not created.
#pragma once

#include <cstddef>
#include <lido/object_pool.hpp>
#include <utility>

#include "../nursery.hpp"
#include "leased.hpp"
#include "particle_store.hpp"

namespace particles {

/// When this happens, the screen is already full of sparks; missing ones go unnoticed.
class refusing_store : public leased {
 public:
  explicit refusing_store(std::size_t capacity)
      : leased({.capacity = capacity, .name = "refusing particles"}) {}

  bool emit(nursery& from) {
    auto made = pool().try_acquire(from);
    const bool born = static_cast<bool>(made);
    if (born) {
      members().add(std::move(made));
    }
    return born;
  }
};

static_assert(particle_store<refusing_store>);

}  // namespace particles
