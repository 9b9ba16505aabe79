/// @file
/// Your own contender, for `scripts/bench.sh --report DIR --contender my_pool.hpp`. It may be in
/// any folder, and its class has the name of the file. contender.hpp lists the other properties
/// that a contender may declare.
#pragma once

#include <memory_resource>

#include "contender.hpp"

template <std::size_t Bytes>
struct my_pool : lido_bench::contender_defaults {
  static constexpr std::string_view name{"my_pool"};
  // A pool of exactly `sizing::capacity` objects: near_exhaustion runs no other.
  // static constexpr bool fixed_capacity{true};
  explicit my_pool(const lido_bench::sizing& /*size*/) {}

  struct session {  // state of each thread
    explicit session(my_pool& pool) : memory{pool.memory} {}
    // nullptr means "empty": the bench counts that as failed, yields and tries again.
    void* acquire() { return memory.allocate(Bytes); }
    void release(void* object) { memory.deallocate(object, Bytes); }
    std::pmr::memory_resource& memory;
  };

  std::pmr::synchronized_pool_resource memory;
};
