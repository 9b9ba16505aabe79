/// @file
/// The five rows of scripts/demo.sh: one workload, and the best-known contenders. They are in one
/// translation unit, since the demo has no time for more. Together with main.cpp it is a separate
/// program.
#include "contenders/boost_lockfree_stack.hpp"
#include "contenders/floor.hpp"
#include "contenders/glibc_malloc.hpp"
#include "contenders/lido_default.hpp"
#include "contenders/mutex_vector.hpp"
#ifdef LIDO_BENCH_JEMALLOC
#include "contenders/jemalloc.hpp"
#endif
#ifdef LIDO_BENCH_MIMALLOC
#include "contenders/mimalloc.hpp"
#endif
#ifdef LIDO_BENCH_TCMALLOC
#include "contenders/tcmalloc.hpp"
#endif
#include "register_all.hpp"
#include "registry.hpp"

namespace lido_bench {

namespace {

template <template <std::size_t> typename... Contenders>
void register_burst() {
  (register_workload<burst, Contenders<64>>(""), ...);
}

}  // namespace

void register_all() {
  register_burst<floor, lido_default, mutex_vector, glibc_malloc, boost_lockfree_stack>();
#ifdef LIDO_BENCH_JEMALLOC
  register_burst<jemalloc>();
#endif
#ifdef LIDO_BENCH_MIMALLOC
  register_burst<mimalloc>();
#endif
#ifdef LIDO_BENCH_TCMALLOC
  register_burst<tcmalloc>();
#endif
}

std::string_view absent_contenders() {
  return LIDO_BENCH_ABSENT;
}

}  // namespace lido_bench
