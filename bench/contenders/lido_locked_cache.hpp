/// @file
/// Lido with caches under a lock each, for systems without the asymmetric fence.
#pragma once

#include "lido_pool.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class lido_locked_cache : public lido_pool<Bytes, lido::policy::locked_cache> {
 public:
  static constexpr std::string_view name{"lido_locked_cache"};
  using lido_pool<Bytes, lido::policy::locked_cache>::lido_pool;
};

}  // namespace lido_bench
