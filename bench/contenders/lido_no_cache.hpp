/// @file
/// Lido without thread caches: its shared stack alone.
#pragma once

#include "lido_pool.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class lido_no_cache : public lido_pool<Bytes, lido::policy::no_cache> {
 public:
  static constexpr std::string_view name{"lido_no_cache"};
  using lido_pool<Bytes, lido::policy::no_cache>::lido_pool;
};

}  // namespace lido_bench
