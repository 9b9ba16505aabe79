/// @file
/// The fountain's requirements on a store of particles.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "../particle.hpp"

namespace particles {

class nursery;

/// `make_room`: one thread calls it before so many are emitted.
/// `emit`: tries to make a particle; returns whether it was born. Many threads call it at once.
/// `settle`: one thread calls it once a frame, after all were emitted.
/// `walk(keep)`: runs on all cores; particles that `keep` refuses are released.
/// `visit(see)`: runs on all cores; passes the pool's identity of the particle, and the particle.
template <class S>
concept particle_store = requires(S& store, nursery& from, bool (*keep)(particle&),
                                  void (*see)(std::uint64_t, const particle&)) {
  { store.emit(from) } -> std::same_as<bool>;
  {store.make_room(std::size_t{})};
  {store.settle()};
  {store.walk(keep)};
  {store.visit(see)};
  { store.capacity() } -> std::convertible_to<std::size_t>;
  { store.in_use() } -> std::convertible_to<std::size_t>;
};

}  // namespace particles
