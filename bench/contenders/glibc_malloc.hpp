/// @file
/// The C library's malloc.
#pragma once

#include <cstdlib>

#include "contender.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class glibc_malloc : public contender_defaults {
 public:
  static constexpr std::string_view name{"malloc"};

  explicit glibc_malloc(const sizing& /*size*/) {}

  class session {
   public:
    explicit session(glibc_malloc& /*pool*/) {}
    [[gnu::always_inline]] void* acquire() { return std::malloc(Bytes); }
    [[gnu::always_inline]] void release(void* object) { std::free(object); }
  };
};

}  // namespace lido_bench
