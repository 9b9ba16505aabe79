/// @file
/// Lido under the policy that waits when the pool is exhausted, which it never is here: what the
/// policy costs while it has nothing to do.
#pragma once

#include "lido_pool.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class lido_block : public lido_pool<Bytes, lido::policy::block> {
 public:
  static constexpr std::string_view name{"lido_block"};
  using lido_pool<Bytes, lido::policy::block>::lido_pool;
};

}  // namespace lido_bench
