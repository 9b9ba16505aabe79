/// @file
/// Third answer to a full pool: the least visible particles are evicted for new ones.
#pragma once

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <lido/concurrent_slot_map.hpp>
#include <lido/slot_map/par.hpp>
#include <utility>
#include <vector>

#include "../ledger.hpp"
#include "../nursery.hpp"
#include "particle_store.hpp"

namespace particles {

/// The map calls it for every erased particle: one that had time left was evicted.
struct obituary {
  ledger* books;

  void on_erase(particle& p, lido::slot_handle<particle> /*handle*/) const noexcept {
    if (p.age < p.lifetime) {
      books->ended(p.number, ending::evicted);
    }
  }
};

/// A particle of a slot map may be erased while its handle is in use: the handle is refused from
/// then on. A pool of addresses could not take an object away from its owner.
class evicting_store {
 public:
  evicting_store(std::size_t capacity, ledger& books)
      : map_({.max_size = capacity, .name = "evicting particles"}, obituary{&books}) {}

  /// Finds all particles to evict in one pass.
  void make_room(std::size_t births) {
    const std::size_t free = map_.max_size() - map_.size();
    if (births > free) {
      evict(std::min(births - free, map_.size()));
    }
  }

  bool emit(nursery& from) { return static_cast<bool>(map_.try_emplace(from)); }

  void settle() {}

  template <class Keep>
  void walk(const Keep& keep) {
    map_.for_each(lido::par,
                  [&keep](particle& p) { return keep(p) ? lido::step::next : lido::step::erase; });
  }

  template <class See>
  void visit(const See& see) {
    map_.for_each(lido::par,
                  [&see](particle& p, handle who) { see(who.to_bits(), std::as_const(p)); });
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return map_.max_size(); }
  [[nodiscard]] std::size_t in_use() const noexcept { return map_.size(); }

 private:
  using map = lido::concurrent_slot_map<particle, obituary>;
  using handle = map::handle_type;
  using rank = std::pair<float, std::uint32_t>;

  /// Returns a unique rank, so the choice of victims does not depend on which thread looks first.
  static rank rank_of(const particle& p) noexcept { return {visibility(p), p.number}; }

  void evict(std::size_t count) {
    tbb::enumerable_thread_specific<std::vector<std::pair<rank, handle>>> seen;
    map_.for_each(lido::par,
                  [&seen](particle& p, handle who) { seen.local().emplace_back(rank_of(p), who); });
    std::vector<std::pair<rank, handle>> all;
    for (const auto& some : seen) {
      all.insert(all.end(), some.begin(), some.end());
    }
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(all.begin(), end, all.end());
    tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) { map_.erase(all[i].second); });
  }

  map map_;
};

static_assert(particle_store<evicting_store>);

}  // namespace particles
