/// @file
/// Objects that are expensive to make: kept, or made each time. Together with main.cpp it is a
/// separate program, lido_bench_life_cycles.
#include "contenders/expensive.hpp"
#include "register_all.hpp"
#include "registry.hpp"

namespace lido_bench {

namespace {

template <typename Pool>
void register_expensive() {
  register_workload<pair, Pool>("");
  register_workload<burst, Pool>("");
  register_workload<churn, Pool>("");
}

}  // namespace

void register_all() {
  register_expensive<lido_kept>();
  register_expensive<lido_each_time>();
  register_expensive<expensive_new>();
#ifdef LIDO_BENCH_LOCKFREE
  register_expensive<expensive_boost>();
#endif
}

std::string_view absent_contenders() {
  return LIDO_BENCH_ABSENT;
}

}  // namespace lido_bench
