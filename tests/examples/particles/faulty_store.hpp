/// @file
/// A store of particles that breaks one rule once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nursery.hpp"
#include "stores/particle_store.hpp"
#include "stores/refusing_store.hpp"

namespace particles {

enum class fault : std::uint8_t {
  none,
  hides_one,        ///< a visit misses a particle
  shows_one_twice,  ///< a visit encounters a particle twice
  keeps_a_dead_one,
  swallows_a_refusal
};

/// A store with one fault, for one thread.
class faulty_store {
 public:
  faulty_store(std::size_t capacity, fault which) : sound_(capacity), fault_(which) {}

  bool emit(nursery& from) {
    const bool born = sound_.emit(from);
    return born || strikes(fault::swallows_a_refusal);
  }

  void make_room(std::size_t births) noexcept { sound_.make_room(births); }
  void settle() { sound_.settle(); }

  template <class Keep>
  void walk(const Keep& keep) {
    sound_.walk([&](particle& p) { return keep(p) || strikes(fault::keeps_a_dead_one); });
  }

  template <class See>
  void visit(const See& see) const {
    sound_.visit([&](std::uint64_t identity, const particle& p) {
      if (!strikes(fault::hides_one)) {
        see(identity, p);
      }
      if (strikes(fault::shows_one_twice)) {
        see(identity + 1, p);
      }
    });
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return sound_.capacity(); }
  [[nodiscard]] std::size_t in_use() const noexcept { return sound_.in_use(); }

 private:
  /// Returns whether the fault strikes now: once, and not at the very first occasion.
  bool strikes(fault which) const { return which == fault_ && ++occasions_ == 100; }

  refusing_store sound_;
  fault fault_;
  mutable std::size_t occasions_ = 0;
};

static_assert(particle_store<faulty_store>);

}  // namespace particles
