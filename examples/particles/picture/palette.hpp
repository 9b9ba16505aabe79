/// @file
/// What colour a particle glows in.
#pragma once

#include "../particle.hpp"
#include "light.hpp"

namespace particles {

/// White-hot at birth, then through the colour of its jet into the dark.
light glow(const particle& p) noexcept;

}  // namespace particles
