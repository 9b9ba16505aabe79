/// @file
/// foonathan/memory's memory_pool of nodes under a std::mutex; it is not thread-safe by itself.
///
/// It is called directly: its own thread_safe_allocator does the same locking with one more layer.
#pragma once

#include <foonathan/memory/memory_pool.hpp>
#include <mutex>

#include "contender.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class foonathan_pool : public contender_defaults {
 public:
  static constexpr std::string_view name{"foonathan_pool"};

  explicit foonathan_pool(const sizing& size)
      : pool_{Bytes, foonathan::memory::memory_pool<>::min_block_size(Bytes, size.capacity)} {}

  class session {
   public:
    explicit session(foonathan_pool& pool) : pool_{pool} {}
    [[gnu::always_inline]] void* acquire() {
      const std::lock_guard lock{pool_.mutex_};
      return pool_.pool_.allocate_node();
    }
    [[gnu::always_inline]] void release(void* object) {
      const std::lock_guard lock{pool_.mutex_};
      pool_.pool_.deallocate_node(object);
    }

   private:
    foonathan_pool& pool_;
  };

 private:
  std::mutex mutex_;
  foonathan::memory::memory_pool<> pool_;
};

}  // namespace lido_bench
