/// @file
/// The pools a driver can be run on.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/ledger.hpp"
#include "harness/run.hpp"
#include "support/preset_pool.hpp"

namespace stress {

/// Acquires every slot, so that each `owned` starts with no owner; returns how many there were.
template <class Pool>
std::size_t clear_owners(Pool& pool) {
  std::vector<decltype(pool.try_acquire_ptr())> all;
  while (auto* const object = pool.try_acquire_ptr()) {
    all.push_back(object);
  }
  pool.release_n(all);
  return all.size();
}

/// How many slots the calling thread can acquire at once, released again afterwards; one more than
/// the capacity stands for any number, since a broken pool may have no end.
template <class Pool>
std::size_t count_acquirable(Pool& pool) {
  std::vector<decltype(pool.try_acquire_ptr(lido::default_init))> all;
  while (all.size() <= pool.capacity()) {
    auto* const object = pool.try_acquire_ptr(lido::default_init);
    if (object == nullptr) {
      break;
    }
    all.push_back(object);
  }
  for (auto* const object : all) {
    pool.release(object);
  }
  return all.size();
}

/// How rough the run was.
inline void print_contention(const lido::pool_stats& stats) {
  constexpr std::array kinds{"revocable", "locked", "no"};
  fmt::print("{} caches, thefts {}, heavy fences {}, refills {}, flushes {}\n",
             kinds.at(static_cast<std::size_t>(stats.caches)), stats.thefts, stats.heavy_fences,
             stats.refills, stats.flushes);
}

/// Whether a cache was robbed, if there are any.
inline bool robbed(const lido::pool_stats& stats) {
  return stats.caches == lido::cache_kind::none || stats.thefts > 0;
}

/// For a run that is worth nothing if no cache was ever robbed.
inline void require_thefts(const run& run, const lido::pool_stats& stats) {
  print_contention(stats);
  run.require(robbed(stats), "no cache was robbed");
}

/// For drivers that need no type for each kind of pool.
inline lido::cache_kind caches_named(std::string_view name) {
  if (name == "locked") {
    return lido::cache_kind::locked;
  }
  return name == "none" ? lido::cache_kind::none : lido::cache_kind::revocable;
}

/// Calls `body.operator()<Pool>()` with the pool type of that name, under `More` presets, too.
template <class... More, class Body>
int with_pool(std::string_view name, Body body) {
  namespace test = lido::test;
  using traits = lido::pool_traits<owned>;
  if (name == "locked") {
    return body
        .template operator()<test::preset_pool<owned, traits, test::locked_caches, More...>>();
  }
  if (name == "none") {
    return body.template operator()<test::preset_pool<owned, traits, test::no_caches, More...>>();
  }
#ifdef LIDO_STRESS_BOOST
  if (name == "boost") {
    return body.template operator()<test::preset_pool<owned, traits, test::over_boost, More...>>();
  }
#endif
  if (name == "revocable") {
    return body.template operator()<test::preset_pool<owned, traits, More...>>();
  }
  fmt::print("this build has no pool '{}'\n", name);
  return EXIT_FAILURE;
}

}  // namespace stress
