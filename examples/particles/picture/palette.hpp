/// @file
/// The colour of a particle.
#pragma once

#include "../particle.hpp"
#include "light.hpp"

namespace particles {

/// Returns white at birth, then through the colour of its jet to dark.
light glow(const particle& p) noexcept;

}  // namespace particles
