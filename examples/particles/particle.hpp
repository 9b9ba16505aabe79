/// @file
/// One drop of the fountain. Lengths are in heights of the picture, times in frames.
#pragma once

#include <cstdint>

namespace particles {

class nursery;

struct particle {
  /// Makes the nursery's next particle, which gets its number once it has its slot, so a refused
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

/// Moves a particle through one frame of gravity, drag and bouncing. Returns false when its time is
/// up.
bool step(particle& p) noexcept;

/// Returns how noticeable its loss would be: 1 at birth, 0 at the end.
float visibility(const particle& p) noexcept;

}  // namespace particles
