/// @file
/// Converts light to the colours of a screen.
#pragma once

#include <cstddef>

#include "image.hpp"
#include "light.hpp"

namespace particles {

/// Prints the light over the night sky, and from row `floor` down over the wet floor. However
/// bright, nothing is clipped: light saturates as on film.
void print(const light_field& field, std::size_t floor, image& into);

}  // namespace particles
