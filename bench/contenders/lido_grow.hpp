/// @file
/// Lido as a growing pool that never grows: the capacity exists from the start.
#pragma once

#include "lido_pool.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class lido_grow : public lido_pool<Bytes> {
 public:
  static constexpr std::string_view name{"lido_grow"};
  explicit lido_grow(const sizing& size)
      : lido_pool<Bytes>{lido::object_pool_options{.capacity = size.capacity,
                                                   .max_capacity = size.capacity,
                                                   .when_full = lido::when_full::grow}} {}
};

}  // namespace lido_bench
