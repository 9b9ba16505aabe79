/// @file
/// libcds' vyukov_queue_pool.
///
/// When the queue is empty it goes to the heap instead of failing, so it has no fixed capacity.
/// Neither it nor libcds' free lists use hazard pointers, so threads need not be attached to
/// libcds.
#pragma once

#include <cds/memory/vyukov_queue_pool.h>
#include <bit>

#include "contender.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class libcds_vyukov_pool : public contender_defaults {
  struct traits : cds::memory::vyukov_queue_pool_traits {
    using buffer = cds::opt::v::uninitialized_dynamic_buffer<void*>;
  };
  using pool = cds::memory::vyukov_queue_pool<block<Bytes>, traits>;

 public:
  static constexpr std::string_view name{"libcds_vyukov_pool"};

  explicit libcds_vyukov_pool(const sizing& size) : pool_{std::bit_ceil(size.capacity)} {}

  class session {
   public:
    explicit session(libcds_vyukov_pool& pool) : pool_{pool.pool_} {}
    [[gnu::always_inline]] void* acquire() { return pool_.allocate(1); }
    [[gnu::always_inline]] void release(void* object) {
      pool_.deallocate(static_cast<block<Bytes>*>(object), 1);
    }

   private:
    pool& pool_;
  };

 private:
  pool pool_;
};

}  // namespace lido_bench
