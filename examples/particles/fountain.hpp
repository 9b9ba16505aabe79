/// @file
/// The fountain over any store of particles: a frame at a time, on all cores.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <cstddef>
#include <cstdint>

#include "census.hpp"
#include "demand.hpp"
#include "ledger.hpp"
#include "nursery.hpp"
#include "stores/particle_store.hpp"

namespace particles {

template <particle_store Store>
class fountain {
 public:
  fountain(Store& store, ledger& books, nursery& from)
      : store_(store), books_(books), nursery_(from) {}

  /// Moves every particle, releases expired ones, and emits `births`.
  void advance(std::size_t births, float pressure) {
    store_.walk([this](particle& p) {
      const bool lives = step(p);
      if (!lives) {
        books_.ended(p.number, ending::died);
      }
      return lives;
    });
    store_.make_room(births);
    nursery_.open(pressure);
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, births, emitted_together),
                      [this](const tbb::blocked_range<std::size_t>& part) {
                        for (std::size_t i = part.begin(); i != part.end(); ++i) {
                          emit();
                        }
                      });
    store_.settle();
  }

  /// Runs the roll call; errors go to the ledger's complaints.
  void check() {
    store_.visit(
        [this](std::uint64_t identity, const particle& p) { census_.present(identity, p.number); });
    census_.compare(books_, store_.in_use());
  }

 private:
  static constexpr std::size_t emitted_together = 256;

  void emit() {
    books_.asked();
    if (!store_.emit(nursery_)) {
      books_.refused();
    }
  }

  Store& store_;
  ledger& books_;
  nursery& nursery_;
  census census_;
};

}  // namespace particles
