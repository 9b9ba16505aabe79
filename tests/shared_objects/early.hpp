/// @file
/// Uses pools before the constructors of Lido have run.
#pragma once

#include "lido/object_pool.hpp"

/// Uses the pool until a thread with a number has a cache.
inline void use_early(lido::object_pool<int>& pool) {
  for (int round = 0; round < 1000; ++round) {
    const auto first = pool.acquire(1);
    const auto second = pool.acquire(2);
  }
}

[[gnu::visibility("default")]] lido::object_pool<int>& pool_of_library();
