/// @file
/// Lido without thread caches.
#pragma once

#include "lido_pool.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class lido_no_cache : public lido_pool<Bytes> {
 public:
  static constexpr std::string_view name{"lido_no_cache"};
  explicit lido_no_cache(const sizing& size)
      : lido_pool<Bytes>{lido::object_pool_options{.capacity = size.capacity,
                                                   .caches = lido::cache_kind::none}} {}
};

}  // namespace lido_bench
