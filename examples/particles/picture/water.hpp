/// @file
/// The reflection in the wet floor.
#pragma once

#include <cstddef>

#include "light.hpp"

namespace particles {

/// Fills the rows from `floor` down with the rows above, upside down, dimmer with depth and
/// rippled.
void reflect(light_field& field, std::size_t floor, std::size_t frame);

}  // namespace particles
