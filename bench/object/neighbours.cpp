/// The value of neighbours in memory: lists of two and more threads that share a pool, beside those
/// of threads with one pool each. Together with main.cpp it is a separate program,
/// lido_bench_neighbours.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "contenders/glibc_malloc.hpp"
#include "contenders/lido_default.hpp"
#include "contenders/resources.hpp"
#include "register_all.hpp"
#include "thread_counts.hpp"
#include "workloads/neighbours.hpp"

namespace lido_bench {

namespace {

constexpr std::size_t bytes{sizeof(neighbours::node)};
static_assert(bytes == 32);

/// The reference: a pool for each thread.
template <typename Pool>
class one_a_thread : public contender_defaults {
 public:
  static inline const std::string name{std::string{Pool::name} +
                                       "_each"};  // NOLINT(cert-err58-cpp)

  explicit one_a_thread(const sizing& size) {
    for (unsigned thread{0}; thread < size.threads; ++thread) {
      pools_.push_back(std::make_unique<Pool>(sizing{size.capacity / size.threads, 1}));
    }
  }

  class session : public Pool::session {
   public:
    explicit session(one_a_thread& all) : Pool::session{*all.pools_[all.next_++]} {}
  };

 private:
  std::vector<std::unique_ptr<Pool>> pools_;
  std::atomic<std::size_t> next_{0};
};

template <contender Pool>
void run_lists(benchmark::State& state, unsigned threads, std::size_t nodes) {
  const auto iterations = static_cast<std::uint64_t>(state.max_iterations);
  while (state.KeepRunningBatch(state.max_iterations)) {
    Pool pool{sizing{.capacity = threads * std::size_t{20'000}, .threads = threads}};
    neighbours lists{threads, nodes};
    const std::uint64_t warm_up{20'000 / nodes + 4};
    const team_result result{
        run_team(threads, warm_up, iterations, [&](lane& self) { lists.run(pool, self); })};
    if (result.starved) {
      state.SkipWithError("starved");
      return;
    }
    state.SetIterationTime(result.cpu_seconds / std::min(threads, cores()));
    state.counters["ns_per_node"] = lists.nanoseconds_per_node();
    state.counters["mixed_lines_percent"] = lists.mixed_lines();
  }
}

template <contender Pool>
void register_lists() {
  for (const std::size_t nodes : {300, 1000, 5000}) {
    for (const unsigned threads : thread_counts()) {
      std::string name{neighbours::name};
      name.append("/").append(Pool::name).append("/nodes:").append(std::to_string(nodes));
      name.append("/threads:").append(std::to_string(threads));
      benchmark::RegisterBenchmark(name.c_str(), [threads, nodes](benchmark::State& state) {
        run_lists<Pool>(state, threads, nodes);
      })->UseManualTime();
    }
  }
}

}  // namespace

void register_all() {
  using blocks = resource_contender<make_block_resource, bytes>;
  register_lists<lido_default<bytes>>();
  register_lists<one_a_thread<lido_default<bytes>>>();
  register_lists<blocks>();
  register_lists<one_a_thread<blocks>>();
  register_lists<glibc_malloc<bytes>>();
#ifdef LIDO_BENCH_MIMALLOC
  register_lists<mimalloc<bytes>>();
#endif
}

std::string_view absent_contenders() {
  return LIDO_BENCH_ABSENT;
}

}  // namespace lido_bench
