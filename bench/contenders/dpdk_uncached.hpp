/// @file
/// DPDK's rte_mempool without caches: its ring alone.
#pragma once

#include "dpdk_environment.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class dpdk_uncached : public dpdk_pool<Bytes, false> {
 public:
  static constexpr std::string_view name{"dpdk_uncached"};
  using dpdk_pool<Bytes, false>::dpdk_pool;
};

}  // namespace lido_bench
