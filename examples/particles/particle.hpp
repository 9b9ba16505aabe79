/// @file
/// One drop of the fountain. Lengths are in heights of the picture, times in frames.
#pragma once

#include <cstdint>

namespace particles {

class nursery;

struct particle {
  /// The next one the nursery has: a particle gets its number when it got its place, so a refused
  /// one leaves no gap.
  explicit particle(nursery& from);

  float x;  ///< 0 in the middle
  float y;  ///< 0 on the floor
  float vx;
  float vy;
  std::uint32_t number;    ///< no other particle of the run has it
  std::uint16_t age;       ///< frames since birth
  std::uint16_t lifetime;  ///< frames
  std::uint8_t jet;        ///< which nozzle it came from
  std::uint8_t bounces;

 private:
  friend class nursery;
  particle() = default;
};

constexpr std::uint16_t shortest_life = 22;
constexpr std::uint16_t longest_life = 68;

/// One frame of gravity, drag and bouncing. False when its time is over.
bool step(particle& p) noexcept;

/// How much one would miss it: 1 at birth, 0 at the end.
float visibility(const particle& p) noexcept;

}  // namespace particles
