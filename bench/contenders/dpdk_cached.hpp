/// @file
/// DPDK's rte_mempool with the largest per-thread cache it accepts.
#pragma once

#include "dpdk_environment.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class dpdk_cached : public dpdk_pool<Bytes, true> {
 public:
  static constexpr std::string_view name{"dpdk"};
  using dpdk_pool<Bytes, true>::dpdk_pool;
};

}  // namespace lido_bench
