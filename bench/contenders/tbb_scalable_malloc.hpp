/// @file
/// oneTBB's scalable_malloc.
#pragma once

#include <oneapi/tbb/scalable_allocator.h>

#include "contender.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class tbb_scalable_malloc : public contender_defaults {
 public:
  static constexpr std::string_view name{"tbb_scalable_malloc"};

  explicit tbb_scalable_malloc(const sizing& /*size*/) {}

  class session {
   public:
    explicit session(tbb_scalable_malloc& /*pool*/) {}
    [[gnu::always_inline]] void* acquire() { return scalable_malloc(Bytes); }
    [[gnu::always_inline]] void release(void* object) { scalable_free(object); }
  };
};

}  // namespace lido_bench
