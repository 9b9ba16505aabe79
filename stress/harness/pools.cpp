#include "harness/pools.hpp"

#include <fmt/core.h>

#include <array>
#include <cstdlib>
#include <utility>
#ifdef LIDO_STRESS_BOOST
#include "lido/freelist/boost_list.hpp"
#endif

namespace stress {

namespace {

std::vector<std::string> with_usual(std::vector<std::string> names) {
  names.insert(names.end(), {"revocable", "locked", "none"});
#ifdef LIDO_STRESS_BOOST
  names.emplace_back("boost");
#endif
  return names;
}

}  // namespace

template std::size_t clear_owners(pool_type& pool);
template std::size_t count_acquirable(pool_type& pool);

void require_all(const run& run, pool_type& pool, std::size_t slots) {
  if (const std::size_t count = count_acquirable(pool); count != slots) {
    run.broken(fmt::format("{} of {} slots are left", count, slots));
  }
}

void print_contention(const lido::slot_pool_stats& stats) {
  constexpr std::array kinds{"revocable", "locked", "no"};
  fmt::print("{} caches, thefts {}, heavy fences {}, refills {}, flushes {}\n",
             kinds.at(static_cast<std::size_t>(stats.caches)), stats.thefts, stats.heavy_fences,
             stats.refills, stats.flushes);
}

pool_driver::pool_driver(std::string invariant, unsigned threads,
                         const std::vector<std::string>& more)
    : driver(std::move(invariant), threads), name_(pool_option(with_usual(more))) {}

lido::object_pool_options pool_driver::with_pool(lido::object_pool_options options) const {
  if (name_ == "locked") {
    options.caches = lido::cache_kind::locked;
  } else if (name_ == "none") {
    options.caches = lido::cache_kind::none;
  }
#ifdef LIDO_STRESS_BOOST
  if (name_ == "boost") {
    options.list = lido::boost_list();
  }
#endif
  return options;
}

void pool_driver::open(const lido::object_pool_options& options) {
  clear_owners(pool_.emplace(with_pool(options)));
}

std::string pool_driver::missing() const {
  const lido::slot_pool_stats now = stats();
  const bool is_robbed = now.caches == lido::cache_kind::none || now.thefts > 0;
  return is_robbed ? "" : "no cache was robbed";
}

}  // namespace stress
