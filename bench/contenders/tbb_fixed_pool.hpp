/// @file
/// oneTBB's fixed_pool over a buffer.
///
/// The buffer bounds bytes, not objects: how many fit depends on the pool's own bookkeeping, so it
/// has no fixed capacity in the sense of near_exhaustion.
#pragma once

#define TBB_PREVIEW_MEMORY_POOL 1  // NOLINT(readability-identifier-naming): oneTBB's switch
#include <oneapi/tbb/memory_pool.h>

#include <vector>

#include "contender.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class tbb_fixed_pool : public contender_defaults {
 public:
  static constexpr std::string_view name{"tbb_fixed_pool"};

  explicit tbb_fixed_pool(const sizing& size)
      : buffer_(size.capacity * Bytes * 2 + bookkeeping * (size.threads + 1)) {}

  class session {
   public:
    explicit session(tbb_fixed_pool& pool) : pool_{pool.pool_} {}
    [[gnu::always_inline]] void* acquire() { return pool_.malloc(Bytes); }
    [[gnu::always_inline]] void release(void* object) { pool_.free(object); }

   private:
    tbb::fixed_pool& pool_;
  };

 private:
  // It takes memory in blocks per thread and size class; too little would measure its failures.
  static constexpr std::size_t bookkeeping{std::size_t{2} << 20U};

  std::vector<std::byte> buffer_;
  tbb::fixed_pool pool_{buffer_.data(), buffer_.size()};
};

}  // namespace lido_bench
