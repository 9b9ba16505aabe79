/// @file
/// Lido with growth that does not fire: the capacity is there from the start.
#pragma once

#include "lido_pool.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class lido_grow : public lido_pool<Bytes, lido::policy::grow> {
 public:
  static constexpr std::string_view name{"lido_grow"};
  using lido_pool<Bytes, lido::policy::grow>::lido_pool;
};

}  // namespace lido_bench
