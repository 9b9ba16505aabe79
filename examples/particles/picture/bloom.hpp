/// @file
/// The glow around bright pixels.
#pragma once

#include "light.hpp"

namespace particles {

/// Adds to each pixel `strength` of the light around it, far enough to be seen as a glow.
void bloom(light_field& field, float strength);

}  // namespace particles
