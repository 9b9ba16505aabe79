/// @file
/// std::pmr::synchronized_pool_resource with its default options, called directly rather than
/// through a polymorphic_allocator. Its functions are virtual by nature; the type is known here.
#pragma once

#include <memory_resource>

#include "contender.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class pmr_synchronized : public contender_defaults {
 public:
  static constexpr std::string_view name{"pmr_synchronized"};

  explicit pmr_synchronized(const sizing& /*size*/) {}

  class session {
   public:
    explicit session(pmr_synchronized& pool) : resource_{pool.resource_} {}
    [[gnu::always_inline]] void* acquire() {
      return resource_.allocate(Bytes, alignof(block<Bytes>));
    }
    [[gnu::always_inline]] void release(void* object) {
      resource_.deallocate(object, Bytes, alignof(block<Bytes>));
    }

   private:
    std::pmr::synchronized_pool_resource& resource_;
  };

 private:
  std::pmr::synchronized_pool_resource resource_;
};

}  // namespace lido_bench
