/// @file
/// Lido with `when_full::wait` where the pool is never full: the cost of the option while no thread
/// waits.
#pragma once

#include "lido_pool.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class lido_block : public lido_pool<Bytes> {
 public:
  static constexpr std::string_view name{"lido_block"};
  explicit lido_block(const sizing& size)
      : lido_pool<Bytes>{lido::object_pool_options{.capacity = size.capacity,
                                                   .when_full = lido::when_full::wait}} {}
};

}  // namespace lido_bench
