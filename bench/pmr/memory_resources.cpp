/// @file
/// Memory resources for containers of nodes, beside what a container would use otherwise. Together
/// with main.cpp it is a separate program, lido_bench_memory_resources.
#include "contenders/floor.hpp"
#include "contenders/resources.hpp"
#include "register_all.hpp"
#include "registry.hpp"
#include "workloads/list.hpp"

namespace lido_bench {

namespace {

constexpr std::size_t bytes{64};

template <typename Pool>
void register_raw() {
  register_workload<pair, Pool>("");
  register_workload<burst, Pool>("");
  register_workload<churn, Pool>("");
}

template <typename Maker>
void register_resource() {
  using pool = resource_contender<Maker, bytes>;
  register_raw<pool>();
  register_workload<handoff, pool>("");
  register_workload<list, pool>("");
}

}  // namespace

void register_all() {
  register_raw<floor<bytes>>();
  register_resource<make_block_resource>();
  register_resource<make_block_sizes>();
  register_resource<make_pmr_synchronized>();
  register_resource<make_pmr_under_mutex>();
  register_resource<make_new_delete>();
#ifdef LIDO_BENCH_FOONATHAN
  register_resource<make_foonathan>();
#endif
#ifdef LIDO_BENCH_MIMALLOC
  register_resource<make_malloc<its_mimalloc>>();
#endif
#ifdef LIDO_BENCH_JEMALLOC
  register_resource<make_malloc<its_jemalloc>>();
#endif
#ifdef LIDO_BENCH_TCMALLOC
  register_resource<make_malloc<its_tcmalloc>>();
#endif
}

std::string_view absent_contenders() {
  return LIDO_BENCH_ABSENT;
}

}  // namespace lido_bench
