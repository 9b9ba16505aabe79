/// @file
/// The fountain: particles in a slot map, with one of four answers to a full map.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <lido/slot_map.hpp>
#include <lido/tbb.hpp>
#include <utility>
#include <vector>

#include "ledger.hpp"
#include "options.hpp"
#include "particle.hpp"

namespace particles {

/// Hook of the map: records each end in the ledger. A particle whose time was not up was evicted.
struct obituary {
  ledger* books;

  void on_erase(const particle& p, lido::slot_handle<particle> /*handle*/) const noexcept {
    books->ended(p.number, p.age < p.lifetime ? ending::evicted : ending::died);
  }
};

/// Options of the map. With a `reserve` as large as `max_size` no insert allocates.
inline lido::slot_map_options size_for(answer policy, const demand& load) {
  switch (policy) {
    case answer::tuned:
      return {.max_size = load.peak(), .reserve = load.peak(), .name = "tuned particles"};
    case answer::grow:
      return {.reserve = load.usual() / 8, .name = "growing particles"};
    case answer::refuse:
    case answer::evict:
      break;
  }
  return {.max_size = load.usual(), .reserve = load.usual(), .name = "particles"};
}

class fountain {
 public:
  using map = lido::slot_map<particle, obituary>;

  fountain(answer policy, const lido::slot_map_options& size, const demand& load, ledger& books)
      : policy_(policy), load_(load), books_(books), map_(size, {&books}) {}

  /// Moves every particle on all cores, erases those whose time is up, and emits new ones.
  void advance(std::size_t frame) {
    map_.for_each(lido::par, [](particle& p) { move(p); });
    map_.erase_if([](const particle& p) { return p.age >= p.lifetime; });
    const std::size_t births = load_.births(frame);
    if (policy_ == answer::evict) {
      make_room(births);
    }
    for (std::size_t i = 0; i < births; ++i) {
      emit(demand::pressure(frame));
    }
    if (policy_ == answer::grow && map_.capacity() > 2 * map_.size()) {
      map_.shrink_to_fit();
    }
  }

  /// Calls the roll: each handle leads to its particle, and all that should be there are, once.
  void check() {
    particles().for_each([this](const particle& p, handle own) {
      if (map_.find(own) != &p) {
        books_.complain(fmt::format("particle {} is not where its handle leads", p.number));
      }
      books_.present(p.number);
    });
    books_.compare(map_.size());
  }

  [[nodiscard]] const map& particles() const noexcept { return map_; }

 private:
  using handle = map::handle_type;

  /// Makes one particle, or refuses it; only one that is born takes a number. `insert` throws
  /// lido::pool_exhausted if a map was tuned wrong by a single particle.
  void emit(float pressure) {
    const particle next = launched(load_.seed(), next_number_, pressure);
    if (policy_ != answer::refuse) {
      map_.insert(next);
    } else if (!map_.try_emplace(next)) {
      books_.refused();
      return;
    }
    books_.born(next_number_++);
  }

  /// Finds the least visible in one walk and erases them by their handles. `emplace_or_evict` would
  /// walk once for each.
  void make_room(std::size_t births) {
    const std::size_t free = map_.max_size() - map_.size();
    if (births <= free) {
      return;
    }
    std::vector<std::pair<float, handle>> ranked;
    ranked.reserve(map_.size());
    particles().for_each(
        [&](const particle& p, handle own) { ranked.emplace_back(visibility(p), own); });
    const auto end = ranked.begin() + static_cast<std::ptrdiff_t>(births - free);
    std::nth_element(ranked.begin(), end, ranked.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::for_each(ranked.begin(), end, [this](const auto& each) { map_.erase(each.second); });
  }

  answer policy_;
  const demand& load_;
  ledger& books_;
  map map_;
  std::uint32_t next_number_ = 0;
};

}  // namespace particles
