/// @file
/// Lido with a lock for each cache, for systems without the asymmetric fence.
#pragma once

#include "lido_pool.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class lido_locked_cache : public lido_pool<Bytes> {
 public:
  static constexpr std::string_view name{"lido_locked_cache"};
  explicit lido_locked_cache(const sizing& size)
      : lido_pool<Bytes>{lido::object_pool_options{.capacity = size.capacity,
                                                   .caches = lido::cache_kind::locked}} {}
};

}  // namespace lido_bench
